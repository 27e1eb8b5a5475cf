import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { classNames } from "../ui/class-names.js";
import { useMeasure } from "../ui/use-size.js";
import { KindIcon } from "./icons.js";
import { moveByKey } from "./keys.js";
import { type Node, rowOf, rowsInSight, type Tree } from "./tree.js";
import type { RowsView } from "./use-rows.js";

const rowHeight = 28;

interface TreeRowsProps {
  view: RowsView;
  label: string;
  rowOf(node: Node, top: number): ComponentChildren;
  children?: ComponentChildren;
}

/** A tree (APG) of rows of one height, of which only those in sight are in the document. It has the focus and the keys. */
export function TreeRows({ view, label, rowOf: renderRow, children }: TreeRowsProps) {
  const { rows, selected } = view;
  const { tree, from, to, onScroll } = useRowsInSight(view);
  const at = selected ? rowOf(rows, selected) : -1;
  const isInSight = rows[at] === selected && at >= from && at < to;
  return (
    <div
      ref={tree}
      class="tree-rows inset"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={isInSight ? `span-${selected?.span.id}` : undefined}
      onScroll={onScroll}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !moveByKey(event.key, view)) return;
        event.preventDefault();
      }}
    >
      <div class="tree-length" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        {children}
        {rows.slice(from, to).map((node, n) => renderRow(node, (from + n) * rowHeight))}
      </div>
    </div>
  );
}

/** The rows to render. The selected one is scrolled into sight, and stays there while pages insert rows above it. */
function useRowsInSight({ tree: spans, rows, selected }: RowsView) {
  const tree = useRef<HTMLDivElement>(null);
  // Kept from events: to ask the element after a change would lay out the page once more.
  const place = useRef({ top: 0, height: 600 });
  const [sight, setSight] = useState({ from: 0, to: 0 });
  const seen = useRef<{ spans?: Tree; id?: string | undefined }>({});
  /** Until the person scrolls or folds. */
  const follows = useRef(true);
  const look = () => {
    const next = rowsInSight(place.current.top, place.current.height, rowHeight, rows.length);
    setSight((last) => (last.from === next.from && last.to === next.to ? last : next));
  };
  const onScroll = () => {
    const top = tree.current?.scrollTop ?? 0;
    // A place that was not set here is the person's, by whatever means.
    if (Math.abs(top - place.current.top) > 1) follows.current = false;
    place.current.top = top;
    look();
  };
  const latest = useRef(look);
  latest.current = look;
  useMeasure(tree, ({ scrollTop, clientHeight }) => {
    place.current = { top: scrollTop, height: clientHeight };
    latest.current();
  });
  useLayoutEffect(() => {
    const isPage = seen.current.spans !== spans;
    if (!isPage) follows.current = seen.current.id !== selected?.span.id;
    seen.current = { spans, id: selected?.span.id };
    if (tree.current && selected && follows.current) {
      const top = topToReveal(rowOf(rows, selected), rows.length, place.current);
      if (top !== place.current.top) tree.current.scrollTop = place.current.top = top;
    }
    look();
  }, [rows, selected]);
  return { tree, from: Math.min(sight.from, rows.length), to: Math.min(sight.to, rows.length), onScroll };
}

/** Where to scroll for a row: by a little where it is near, else to the middle. */
function topToReveal(row: number, rows: number, { top, height }: { top: number; height: number }): number {
  const [start, end] = [row * rowHeight, (row + 1) * rowHeight];
  if (start >= top && end <= top + height) return top;
  const isNear = start > top - 3 * rowHeight && end < top + height + 3 * rowHeight;
  if (isNear) return start < top ? start : end - height;
  return Math.max(0, Math.min(Math.round(start - height / 2), rows * rowHeight - height));
}

const maxIndent = 14;
const indentPixels = 14;

export interface TreeRowProps {
  node: Node;
  top: number;
  isSelected: boolean;
  isClosed: boolean;
  onSelect(node: Node): void;
  onToggle(node: Node, isOpen: boolean): void;
}

interface TreeRowParts {
  class: string | undefined;
  description: readonly (string | false | undefined)[];
  /** The columns after the name. */
  children: ComponentChildren;
}

export function TreeRow({
  node,
  top,
  isSelected,
  isClosed,
  onSelect,
  onToggle,
  ...parts
}: TreeRowProps & TreeRowParts) {
  const { span, children, depth, mark } = node;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree points to it with aria-activedescendant
    <div
      id={`span-${span.id}`}
      class={classNames("span-row", isSelected && "is-selected", parts.class)}
      role="treeitem"
      aria-label={span.name || "(no name)"}
      aria-description={parts.description.filter(Boolean).join(", ")}
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
          class={children.length > 0 ? "span-arrow arrow" : "span-arrow"}
          onClick={(event) => {
            if (children.length === 0) return;
            event.stopPropagation();
            onToggle(node, isClosed);
          }}
        />
        {depth > maxIndent && <span class="span-depth drawn" data-text={depth + 1} />}
        <KindIcon kind={span.kind} isFailed={span.isFailed} />
        <span class="span-label cut" title={span.name}>
          {shortName(span.name)}
        </span>
        {mark && <span class="span-mark drawn" data-text={mark === "no parent found" ? "no parent" : "circle"} />}
      </span>
      {parts.children}
    </div>
  );
}

/** The kind's icon says what common prefixes say. */
function shortName(name: string): string {
  return name.replace(/^(?:tool|model call|agent): (?=\S)/, "") || "(no name)";
}
