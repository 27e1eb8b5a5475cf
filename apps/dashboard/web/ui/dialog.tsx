import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ActionOptions, useAction } from "../data/query.js";
import { Button, type ButtonProps } from "./button.js";

/** Gets the focus on opening: a field, else the first button that is not "Close". */
const firstControl = '.dialog-body :is(input:not([tabindex="-1"]), select, textarea, button), .dialog-actions button';

interface DialogProps {
  title: string;
  /** Escape, the close button or a click beside it. Keep the dialog mounted to ask before closing. */
  onClose(): void;
  actions?: ComponentChildren;
  isWide?: boolean;
  children?: ComponentChildren;
}

/** A modal dialog, open while it is mounted. On close the focus goes back to its opener. */
export function Dialog({ title, onClose, actions, isWide, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    element?.querySelector<HTMLElement>(firstControl)?.focus();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog is-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget && isOutside(event, event.currentTarget)) onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button text="Close" look="quiet" icon="close" isIconOnly onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
      {actions && <footer class="row dialog-actions">{actions}</footer>}
    </dialog>
  );
}

function isOutside(event: { clientX: number; clientY: number }, element: Element): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return event.clientX < left || event.clientX > right || event.clientY < top || event.clientY > bottom;
}

export function DialogButton({ dialog, ...button }: ButtonProps & { dialog(close: () => void): ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

interface ConfirmProps extends ActionOptions<unknown> {
  title: string;
  verb: string;
  isReady?: boolean;
  work(): Promise<unknown>;
  onClose(): void;
  children?: ComponentChildren;
}

/** Asks before something that cannot be undone, and closes after it. */
export function Confirm({ title, verb, isReady = true, work, onClose, children, ...options }: ConfirmProps) {
  const action = useAction(work, { onDone: onClose, ...options });
  const actions = (
    <>
      <Button text="Cancel" onClick={onClose} />
      <Button text={verb} look="danger" disabled={!isReady} isBusy={action.isBusy} onClick={() => action.run()} />
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} actions={actions}>
      {children}
      {action.error && (
        <p class="field-error" role="alert">
          {action.error.message}
        </p>
      )}
    </Dialog>
  );
}

export function ConfirmButton(props: Omit<ConfirmProps, "onClose">) {
  return <DialogButton text={props.verb} dialog={(close) => <Confirm {...props} onClose={close} />} />;
}
