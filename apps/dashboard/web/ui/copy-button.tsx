import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { announce } from "./announce.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";
import { Field } from "./form.js";
import { Banner } from "./page.js";

const shownMs = 2_000;

interface CopyButtonProps {
  text: string | (() => string);
  label?: string;
  look?: "main" | "quiet";
  onCopy?(): void;
}

export function CopyButton({ text, label = "Copy", look, onCopy }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await writeClipboard(typeof text === "string" ? text : text());
    setCopied(true);
    announce("Copied");
    onCopy?.();
  };
  return <Button text={label} look={look} icon={isCopied ? "check" : "copy"} onClick={() => void copy()} />;
}

async function writeClipboard(text: string): Promise<void> {
  // Browsers have no clipboard on plain http from another host.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

interface CopyFieldProps {
  label: string;
  value: string;
  hint?: string;
  /** Above 1 it is a textarea. */
  lines?: number;
  hasButton?: boolean;
  onCopy?(): void;
}

export function CopyField({ label, value, hint, lines = 1, hasButton = true, onCopy }: CopyFieldProps) {
  const shared = { class: "input mono", readOnly: true, value, spellcheck: false };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <div class="copy-field">
          {lines > 1 ? (
            <textarea {...shared} {...control} rows={lines} onFocus={(event) => event.currentTarget.select()} />
          ) : (
            <input {...shared} {...control} type="text" onFocus={(event) => event.currentTarget.select()} />
          )}
          {hasButton && <CopyButton text={value} {...(onCopy ? { onCopy } : {})} />}
        </div>
      )}
    </Field>
  );
}

interface SecretProps {
  title: string;
  label: string;
  secret: string;
  hint: string;
  /** Said before it closes uncopied. */
  warning: string;
  onClose(): void;
  others?: ComponentChildren;
  children?: ComponentChildren;
}

/** Shows a text that nobody can see again. Without a copy it asks once before it closes. */
export function SecretDialog({ title, label, secret, hint, warning, onClose, others, children }: SecretProps) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const close = () => (isCopied || isAsking ? onClose() : setAsking(true));
  const actions = <Button text="Done" look="main" onClick={close} />;
  return (
    <Dialog title={title} onClose={close} actions={actions}>
      <div onCopy={() => setCopied(true)}>
        <CopyField label={label} value={secret} hint={hint} onCopy={() => setCopied(true)} />
        {others}
      </div>
      {children}
      {isAsking && !isCopied && <Banner tone="error">{warning}</Banner>}
    </Dialog>
  );
}
