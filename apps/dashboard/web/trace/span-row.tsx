import { formatDuration } from "../ui/format.js";
import { KindIcon } from "./icons.js";
import { memo } from "./memo.js";
import { type Scale, stretchOf } from "./timeline.js";
import type { Node } from "./tree.js";

const maxIndent = 14;
const indentPixels = 14;

interface RowProps {
  node: Node;
  top: number;
  lanes: Scale;
  traceEnd: number;
  isSelected: boolean;
  isFound: boolean;
  isClosed: boolean;
  onSelect(node: Node): void;
  onToggle(node: Node, isOpen: boolean): void;
}

/** A span in the tree with its bar. */
export const SpanRow = memo((props: RowProps) => {
  const { node, top, lanes, traceEnd, isSelected, isFound, isClosed, onSelect, onToggle } = props;
  const { span, children, depth, mark } = node;
  const duration = span.end === undefined ? "no end" : formatDuration(span.end - span.start);
  const classes = ["span-row", isSelected && "is-selected", span.isFailed && "is-failed", isFound && "is-found"];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree points to it with aria-activedescendant
    <div
      id={`span-${span.id}`}
      class={`tree-columns ${classes.filter(Boolean).join(" ")}`}
      role="treeitem"
      aria-label={span.name || "(no name)"}
      aria-description={[span.isFailed && "failed", duration, mark].filter(Boolean).join(", ")}
      aria-level={depth + 1}
      aria-setsize={node.siblings}
      aria-posinset={node.position}
      aria-selected={isSelected}
      {...(children.length > 0 ? { "aria-expanded": !isClosed } : {})}
      style={{ top: `${top}px` }}
      onClick={() => onSelect(node)}
    >
      <span class="span-name" style={{ paddingInlineStart: `${Math.min(depth, maxIndent) * indentPixels}px` }}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys do the same */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys do the same */}
        <span
          class={children.length > 0 ? "span-arrow is-there" : "span-arrow"}
          onClick={(event) => {
            if (children.length === 0) return;
            event.stopPropagation();
            onToggle(node, isClosed);
          }}
        />
        {depth > maxIndent && <span class="span-depth drawn" data-text={depth + 1} />}
        <KindIcon kind={span.kind} isFailed={span.isFailed} />
        <span class="span-label" title={span.name}>
          {shortName(span.name)}
        </span>
        {mark && <span class="span-mark drawn" data-text={mark === "no parent found" ? "no parent" : "circle"} />}
      </span>
      <span class="span-lane">
        <Bar node={node} lanes={lanes} traceEnd={traceEnd} />
      </span>
      <span class="number span-time drawn" data-text={duration} />
    </div>
  );
});

/** The kind's icon says what common prefixes say. */
function shortName(name: string): string {
  return name.replace(/^(?:tool|model call|agent): (?=\S)/, "") || "(no name)";
}

function Bar({ node, lanes, traceEnd }: Pick<RowProps, "node" | "lanes" | "traceEnd">) {
  const { span } = node;
  const { from, to } = stretchOf(node, traceEnd);
  const [start, end] = [lanes.at(from), lanes.at(to)];
  if (end < 0 || start > 1) return null;
  const left = Math.max(0, start);
  const look = span.isFailed ? "is-failed" : `kind-${span.kind}`;
  const right = Math.min(1, end);
  return (
    <i
      class={`span-bar ${look}${span.end === undefined ? " is-open" : ""}`}
      style={{ left: `min(${left * 100}%, calc(100% - 2px))`, width: `${(right - left) * 100}%` }}
    />
  );
}
