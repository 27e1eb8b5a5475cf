import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { classNames } from "../ui/class-names.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { useMeasure } from "../ui/use-size.js";
import { moveByKey } from "./keys.js";
import { colorOf } from "./kinds.js";
import { memo } from "./memo.js";
import { type Scale, stretchOf, ticksOf } from "./timeline.js";
import { type Node, rowOf, rowsInSight, type Tree } from "./tree.js";
import type { View } from "./use-view.js";
import "./waterfall.css";
import { KindIcon } from "./icons.js";

const rowHeight = 28;

interface TreeProps {
  view: View;
  finder: RefObject<HTMLInputElement | null>;
  isPartial: boolean;
  onLanePixels(pixels: number): void;
  onHelp(): void;
}

export function SpanTree({ view, finder, isPartial, onLanePixels, onHelp }: TreeProps) {
  return (
    <div class="panel is-flush span-tree">
      <Toolbar view={view} finder={finder} isPartial={isPartial} />
      <Axis lanes={view.lanes} onLanePixels={onLanePixels} />
      <Rows view={view} />
      <footer class="row tree-keys">
        <span aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>←</kbd> <kbd>→</kbd> fold <kbd>E</kbd> next error <kbd>F</kbd> zoom to
          span <kbd>/</kbd> find
        </span>
        <button type="button" onClick={onHelp}>
          <span class="kbd" aria-hidden="true">
            ?
          </span>{" "}
          Keys
        </button>
      </footer>
    </div>
  );
}

function Toolbar({ view, finder, isPartial }: Pick<TreeProps, "view" | "finder" | "isPartial">) {
  const { find, found, failed, closed, selected, hasIdle, skipsIdle, isZoomed } = view;
  const at = selected ? found.indexOf(selected) + 1 : 0;
  return (
    <div class="row tree-tools">
      <div class="search-box tree-find">
        <Icon name="search" />
        <input
          ref={finder}
          type="search"
          class="input"
          aria-label="Find in this trace"
          placeholder="Find in this trace"
          value={find}
          onInput={(event) => view.setFind(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") view.nextFound(event.shiftKey ? -1 : 1);
            else if (event.key === "Escape") {
              view.setFind("");
              event.currentTarget.blur();
            } else return;
            event.preventDefault();
          }}
        />
        {find.trim() !== "" && (
          <span class="tree-found" role="status">
            {found.length === 0 ? "none" : `${formatCount(at)} of ${formatCount(found.length)}`}
          </span>
        )}
      </div>
      {failed.length > 0 && (
        <button type="button" class="button is-error" onClick={view.nextError}>
          <Icon name="warning" />
          Next error
          <span class="kbd" aria-hidden="true">
            E
          </span>
        </button>
      )}
      {isPartial && (
        <span class="note" role="status">
          {formatCount(view.tree.nodes.length)} spans so far
        </span>
      )}
      <span class="tree-gap" />
      {isZoomed && <Button text="All of the time" look="quiet" onClick={() => view.setZoom(undefined)} />}
      {hasIdle && (
        <button type="button" class="button" aria-pressed={skipsIdle} onClick={() => view.setSkipsIdle(!skipsIdle)}>
          Skip idle time
        </button>
      )}
      <Button text={closed.size > 0 ? "Expand" : "Collapse"} onClick={() => view.setAllOpen(closed.size > 0)} />
    </div>
  );
}

const Axis = memo(({ lanes, onLanePixels }: Pick<TreeProps, "onLanePixels"> & { lanes: Scale }) => {
  const lane = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(360);
  useMeasure(lane, ({ clientWidth }) => {
    setWidth(clientWidth);
    onLanePixels(clientWidth);
  });
  return (
    <div class="tree-axis tree-columns" aria-hidden="true">
      <span>Span</span>
      <div ref={lane} class="tree-ticks">
        {ticksOf(lanes, width).map(({ time, place }) => (
          <span key={time} style={{ left: `${place * 100}%` }}>
            {time === 0 ? "0" : formatDuration(time)}
          </span>
        ))}
      </div>
      <span class="number">Time</span>
    </div>
  );
});

function Rows({ view }: { view: View }) {
  const { rows, selected, found, closed, lanes, extent } = view;
  const { tree, from, to, onScroll } = useRowsInSight(view);
  const at = selected ? rowOf(rows, selected) : -1;
  const isInSight = rows[at] === selected && at >= from && at < to;
  const marked = useMemo(() => new Set(found), [found]);
  return (
    <div
      ref={tree}
      class="tree-rows inset"
      role="tree"
      aria-label="Spans"
      tabIndex={0}
      aria-activedescendant={isInSight ? `span-${selected?.span.id}` : undefined}
      onScroll={onScroll}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !moveByKey(event.key, view)) return;
        event.preventDefault();
      }}
    >
      <div class="tree-length" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        <LaneGround lanes={lanes} />
        {rows.slice(from, to).map((node, n) => (
          <SpanRow
            key={node.span.id}
            node={node}
            top={(from + n) * rowHeight}
            lanes={lanes}
            traceEnd={extent.to}
            isSelected={node === selected}
            isFound={marked.has(node)}
            isClosed={closed.has(node.span.id)}
            onSelect={view.select}
            onToggle={view.setOpen}
          />
        ))}
      </div>
    </div>
  );
}

/** The rows to render. The selected one is scrolled into sight, and stays there while pages insert rows above it. */
function useRowsInSight({ tree: spans, rows, selected }: View) {
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

const LaneGround = memo(({ lanes }: { lanes: Scale }) => {
  return (
    <div class="tree-columns lane-ground" aria-hidden="true">
      <span />
      <div>
        {ticksOf(lanes, 360).map(({ time, place }) => (
          <i key={time} class="tick-line" style={{ left: `${place * 100}%` }} />
        ))}
        {lanes.folded.map(({ from, to }) => (
          <i
            key={from}
            class="idle"
            style={{ left: `${lanes.at(from) * 100}%`, width: `${(lanes.at(to) - lanes.at(from)) * 100}%` }}
          />
        ))}
      </div>
      <span />
    </div>
  );
});

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

const SpanRow = memo((props: RowProps) => {
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
  const classes = ["span-bar", span.isFailed && "is-failed", span.end === undefined && "is-open"];
  const right = Math.min(1, end);
  return (
    <i
      class={classNames(...classes)}
      style={{
        left: `min(${left * 100}%, calc(100% - 2px))`,
        width: `${(right - left) * 100}%`,
        ...colorOf(span.kind),
      }}
    />
  );
}
