import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatBytes, formatCount } from "../ui/format.js";
import { childrenOf, type JsonChild, type JsonValue, rootOf, textOf, tokenOf } from "./json.js";

const maxChildren = 200;
const hundred = 100;
const maxStringCharacters = 20_000;
const shownStringCharacters = 2_000;
/** Beyond this depth nodes are closed at first. */
const openDepth = 2;

export function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= maxStringCharacters || isWhole) return <>{text}</>;
  return (
    <>
      {text.slice(0, shownStringCharacters)}
      <button type="button" class="json-more" onClick={() => setWhole(true)}>
        … all {formatBytes(text.length)}
      </button>
    </>
  );
}

/** A JSON text as a tree; the numbers and words are slices of it. Only open nodes are scanned and in the document. */
export function JsonTree({ text }: { text: string }) {
  const root = useMemo(() => rootOf(text), [text]);
  if (!root) return <pre class="as-sent">{text}</pre>;
  return (
    <div class="json-tree">
      <JsonNode text={text} value={root} label={undefined} depth={0} />
    </div>
  );
}

interface NodeProps {
  text: string;
  value: JsonValue;
  label: string | undefined;
  depth: number;
}

function JsonNode({ text, value, label, depth }: NodeProps) {
  const isGroup = value.type === "object" || value.type === "array";
  if (isGroup) return <JsonGroup text={text} value={value} label={label} depth={depth} />;
  const token = tokenOf(text, value);
  return (
    <div class="json-line as-sent" style={{ paddingInlineStart: `${indentOf(depth)}px` }}>
      {label !== undefined && <span class="json-key">{label}: </span>}
      <span class={`json-${value.type}`}>{value.type === "string" ? <LongText text={textOf(token)} /> : token}</span>
    </div>
  );
}

const indentOf = (depth: number) => 16 + Math.min(depth, 14) * 14;

function JsonGroup({ text, value, label, depth }: NodeProps) {
  const children = useMemo(() => childrenOf(text, value), [text, value]);
  const [start, end] = value.type === "object" ? ["{", "}"] : ["[", "]"];
  const isOpen = depth < openDepth && (depth === 0 || children.length <= 10);
  return (
    <Fold depth={depth} label={label} count={`${start}${formatCount(children.length)}${end}`} isOpenAtFirst={isOpen}>
      {() => <JsonChildren text={text} items={children} depth={depth + 1} from={0} />}
    </Fold>
  );
}

interface FoldProps {
  depth: number;
  label?: string | undefined;
  count: string;
  isOpenAtFirst: boolean;
  children(): ComponentChild;
}

function Fold({ depth, label, count, isOpenAtFirst, children }: FoldProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <div>
      <button
        type="button"
        class="json-line json-group as-sent"
        aria-expanded={isOpen}
        style={{ paddingInlineStart: `${indentOf(depth)}px` }}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="json-arrow arrow" aria-hidden="true" />
        {label !== undefined && <span class="json-key">{label}: </span>}
        <span class="json-count">{count}</span>
      </button>
      {isOpen && children()}
    </div>
  );
}

interface ChildrenProps {
  text: string;
  items: readonly JsonChild[];
  depth: number;
  from: number;
}

function JsonChildren({ text, items, depth, from }: ChildrenProps) {
  if (items.length > maxChildren) {
    const starts = Array.from({ length: Math.ceil(items.length / hundred) }, (_, n) => n * hundred);
    return (
      <>
        {starts.map((start) => {
          const part = items.slice(start, start + hundred);
          return (
            <Fold key={start} depth={depth} count={`${start} … ${start + part.length - 1}`} isOpenAtFirst={false}>
              {() => <JsonChildren text={text} items={part} depth={depth} from={start} />}
            </Fold>
          );
        })}
      </>
    );
  }
  return (
    <>
      {items.map((child, at) => (
        <JsonNode
          key={child.start}
          text={text}
          value={child}
          label={child.key === undefined ? String(from + at) : textOf(child.key)}
          depth={depth}
        />
      ))}
    </>
  );
}
