import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { classNames } from "../ui/class-names.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { useMeasure } from "../ui/use-size.js";
import { colorOf } from "./kinds.js";
import { memo } from "./memo.js";
import { type Scale, stretchOf, ticksOf } from "./timeline.js";
import type { Node } from "./tree.js";
import { TreeRow, type TreeRowProps, TreeRows } from "./tree-rows.js";
import type { View } from "./use-view.js";
import "./waterfall.css";

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
  const { selected, found, closed, lanes, extent } = view;
  const marked = useMemo(() => new Set(found), [found]);
  const rowOf = (node: Node, top: number) => (
    <SpanRow
      key={node.span.id}
      node={node}
      top={top}
      lanes={lanes}
      traceEnd={extent.to}
      isSelected={node === selected}
      isFound={marked.has(node)}
      isClosed={closed.has(node.span.id)}
      onSelect={view.select}
      onToggle={view.setOpen}
    />
  );
  return (
    <TreeRows view={view} label="Spans" rowOf={rowOf}>
      <LaneGround lanes={lanes} />
    </TreeRows>
  );
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

interface RowProps extends TreeRowProps {
  lanes: Scale;
  traceEnd: number;
  isFound: boolean;
}

const SpanRow = memo(({ lanes, traceEnd, isFound, ...row }: RowProps) => {
  const { span, mark } = row.node;
  const duration = span.end === undefined ? "no end" : formatDuration(span.end - span.start);
  return (
    <TreeRow
      {...row}
      class={classNames("tree-columns", span.isFailed && "is-failed", isFound && "is-found")}
      description={[span.isFailed && "failed", duration, mark]}
    >
      <span class="span-lane">
        <Bar node={row.node} lanes={lanes} traceEnd={traceEnd} />
      </span>
      <span class="number span-time drawn" data-text={duration} />
    </TreeRow>
  );
});

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
