import type { ContentName } from "@waymark/traces";
import { useMemo, useState } from "preact/hooks";
import { Segmented } from "../ui/choices.js";
import { CopyButton } from "../ui/copy-button.js";
import { formatBytes } from "../ui/format.js";
import { type Message, messagesOf, type Part } from "./conversation.js";
import { rootOf, stringOf } from "./json.js";
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

export function ContentView(props: ContentProps) {
  const { name, text, cutBytes } = props;
  const messages = useMemo(
    () => (cutBytes || text.length > maxConversationCharacters ? undefined : messagesOf(text)),
    [text, cutBytes],
  );
  const plain = useMemo(() => (cutBytes ? undefined : stringOf(text, rootOf(text))), [text, cutBytes]);
  const [isRaw, setRaw] = useState(false);
  if (cutBytes) {
    return (
      <>
        <CutNote {...props} />
        <RawText text={text} />
      </>
    );
  }
  const choices = [
    { value: "best", label: messages ? "Messages" : plain === undefined ? "Tree" : "Text" },
    { value: "json", label: "JSON" },
  ];
  return (
    <>
      <div class="row content-head">
        <Segmented
          label={`View of ${name}`}
          value={isRaw ? "json" : "best"}
          choices={choices}
          onValue={(view) => setRaw(view === "json")}
        />
        <CopyButton label={`Copy ${name}`} text={text} look="quiet" />
      </div>
      {isRaw ? <RawText text={text} /> : <Best text={text} messages={messages} plain={plain} />}
    </>
  );
}

interface BestProps {
  text: string;
  messages: readonly Message[] | undefined;
  plain: string | undefined;
}

/** Messages where there are some, else the tree; a string shows as its text, or as the tree of the JSON that it holds. */
function Best({ text, messages, plain }: BestProps) {
  if (messages) return <Conversation messages={messages} />;
  if (plain === undefined) return <JsonTree text={text} />;
  return /^\s*[[{]/.test(plain) && rootOf(plain) ? <JsonTree text={plain} /> : <RawText text={plain} />;
}

function RawText({ text }: { text: string }) {
  return (
    <pre class="as-sent">
      <LongText text={text} />
    </pre>
  );
}

export function CutNote({ name, text, cutBytes = 0, path }: ContentProps) {
  return (
    <p class="note">
      The first {formatBytes(text.length)} of {formatBytes(cutBytes)}.{" "}
      <a href={`/dashboard/api${path}/${name}`} download>
        Download the {name}
      </a>
    </p>
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
      <p class="as-sent">
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
