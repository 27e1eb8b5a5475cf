import type { ContentName } from "@waymark/traces";
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../ui/copy-button.js";
import { formatBytes } from "../ui/format.js";
import { Segmented } from "../ui/segmented.js";
import { type Message, messagesOf, type Part } from "./conversation.js";
import { rootOf, textOf, tokenOf } from "./json.js";
import { JsonTree, LongText } from "./json-view.js";

/** Beyond this, messages are not looked for: the tree opens at once. */
const maxConversationCharacters = 2_000_000;

interface ContentProps {
  name: ContentName;
  /** The JSON text as it was sent. */
  text: string;
  /** All bytes, if this text is only their head. */
  cutBytes: number | undefined;
  /** Of the span, below the data's address. */
  path: string;
}

type View = "messages" | "tree" | "json";

/** A stored JSON text as a conversation, a tree, or as it was sent. */
export function ContentView({ name, text, cutBytes, path }: ContentProps) {
  const messages = useMemo(
    () => (cutBytes || text.length > maxConversationCharacters ? undefined : messagesOf(text)),
    [text, cutBytes],
  );
  const plain = useMemo(() => (cutBytes ? undefined : stringOf(text)), [text, cutBytes]);
  const best: View = messages ? "messages" : "tree";
  const [chosen, setChosen] = useState<View>(best);
  const view = chosen === "messages" && !messages ? "tree" : chosen;
  const tree = { value: "tree", label: plain === undefined ? "Tree" : "Text" } as const;
  const choices = [
    ...(messages ? [{ value: "messages", label: "Messages" } as const] : [tree]),
    { value: "json", label: "JSON" } as const,
  ];
  if (cutBytes) return <CutText name={name} text={text} bytes={cutBytes} path={path} />;
  return (
    <>
      <div class="content-head">
        <Segmented<View> label={`View of ${name}`} value={view} choices={choices} onValue={setChosen} />
        <CopyButton label={`Copy ${name}`} text={text} look="quiet" />
      </div>
      {view === "messages" && messages && <Conversation messages={messages} />}
      {view === "tree" && (plain === undefined ? <JsonTree text={text} /> : <PlainText text={plain} />)}
      {view === "json" && <RawText text={text} />}
    </>
  );
}

function stringOf(text: string): string | undefined {
  const root = rootOf(text);
  return root?.type === "string" ? textOf(tokenOf(text, root)) : undefined;
}

/** Text; a string that holds JSON shows as its tree. */
function PlainText({ text }: { text: string }) {
  const root = /^\s*[[{]/.test(text) ? rootOf(text) : undefined;
  if (root) return <JsonTree text={text} />;
  return <RawText text={text} />;
}

function RawText({ text }: { text: string }) {
  return (
    <pre class="json-raw">
      <LongText text={text} />
    </pre>
  );
}

interface CutProps {
  name: ContentName;
  text: string;
  bytes: number;
  path: string;
}

/** Says that only the head is shown, with a download of the stored bytes. */
export function CutNote({ name, text, bytes, path }: CutProps) {
  return (
    <p class="note">
      The first {formatBytes(text.length)} of {formatBytes(bytes)}.{" "}
      <a href={`/dashboard/api${path}/${name}`} download>
        Download the {name}
      </a>
    </p>
  );
}

function CutText({ text, ...rest }: CutProps) {
  return (
    <>
      <CutNote text={text} {...rest} />
      <RawText text={text} />
    </>
  );
}

function Conversation({ messages }: { messages: readonly Message[] }) {
  const [shown, setShown] = useState(100);
  return (
    <ol class="conversation">
      {messages.slice(0, shown).map((message, at) => (
        <li key={at} class={`message is-${message.role === "assistant" ? "assistant" : "other"}`}>
          <h4>{message.role}</h4>
          {message.parts.length === 0 ? (
            <p class="note">No text</p>
          ) : (
            message.parts.map((part, n) => <MessagePart key={n} part={part} />)
          )}
        </li>
      ))}
      {shown < messages.length && (
        <li>
          <button type="button" class="json-more" onClick={() => setShown(shown + 100)}>
            {messages.length - shown} more messages
          </button>
        </li>
      )}
    </ol>
  );
}

function MessagePart({ part }: { part: Part }) {
  if (part.type === "text") {
    return (
      <p class="message-text">
        <LongText text={part.text} />
      </p>
    );
  }
  return (
    <div class="message-call">
      {part.type === "call" && <p class="mono">{part.name}</p>}
      <JsonTree text={part.json} />
    </div>
  );
}
