import type { OutlineTrace } from "@waymark/traces";
import { useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Moment } from "../ui/ago.js";
import { formatCount, formatDuration, formatShare } from "../ui/format.js";
import { useNarrow } from "../ui/use-narrow.js";
import { neighbourOf } from "./address.js";
import { HelpDialog } from "./help-dialog.js";
import { kindNames, kinds } from "./kinds.js";
import { memo } from "./memo.js";
import { Overview } from "./overview.js";
import { Figure, SpanDetails } from "./span-details.js";
import { SpanTree } from "./span-tree.js";
import { ownTimeByKind, type Stretch } from "./timeline.js";
import type { Tree } from "./tree.js";
import { useKeys } from "./use-keys.js";
import type { Outline } from "./use-outline.js";
import { useView } from "./use-view.js";

/** A trace with its spans: figures, overview, tree and the selected span. */
export function TraceViewer({ outline }: { outline: Outline & { trace: OutlineTrace } }) {
  const { trace, isPartial } = outline;
  const [lanePixels, setLanePixels] = useState(360);
  const view = useView(outline, lanePixels);
  const finder = useRef<HTMLInputElement>(null);
  const details = useRef<HTMLElement>(null);
  const isNarrow = useNarrow(1_000);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const { route } = useLocation();
  const open = (step: number) => {
    const id = neighbourOf(trace.id, step);
    if (id) route(`/dashboard/traces/${id}`);
  };
  const hideDetails = () => {
    view.setSheet(false);
    document.querySelector<HTMLElement>("[role=tree]")?.focus({ preventScroll: true });
  };
  useKeys(view, {
    openDetails: () => {
      view.setSheet(true);
      requestAnimationFrame(() => details.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
    },
    hideDetails,
    focusFind: () => finder.current?.focus(),
    openNext: () => open(1),
    openPrevious: () => open(-1),
    openHelp: () => setHelpOpen(true),
  });
  const { tree, selected, extent } = view;
  return (
    <div class="trace-view">
      <TraceFigures trace={trace} tree={tree} extent={extent} />
      {tree.nodes.length > 0 && <Overview view={view} />}
      {selected ? (
        <div class={isNarrow && view.hasSheet ? "trace-body has-sheet" : "trace-body"}>
          <SpanTree
            view={view}
            finder={finder}
            isPartial={isPartial}
            onLanePixels={setLanePixels}
            onHelp={() => setHelpOpen(true)}
          />
          {(view.hasSheet || !isNarrow) && (
            <SpanDetails
              traceId={trace.id}
              node={selected}
              extent={extent}
              section={details}
              isRunning={trace.status === "running"}
              onClose={isNarrow ? hideDetails : undefined}
            />
          )}
        </div>
      ) : (
        <p class="panel">{trace.status === "running" ? "No spans yet." : "This trace has no spans."}</p>
      )}
      {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

const TraceFigures = memo(({ trace, tree, extent }: { trace: OutlineTrace; tree: Tree; extent: Stretch }) => {
  const counted = tree.nodes.reduce((sum, { span }) => sum + Number(span.isFailed), 0);
  const spans = Math.max(trace.spans ?? 0, tree.nodes.length);
  const errors = Math.max(trace.errors ?? 0, counted);
  const ended = trace.ended_at;
  const duration = ended ? formatDuration(Date.parse(ended) - Date.parse(trace.started_at)) : undefined;
  return (
    <div class="trace-figures">
      <dl class="trace-facts">
        <Figure label="Started" value={<Moment iso={trace.started_at} />} />
        <Figure label="Duration" value={duration ?? (trace.status === "running" ? "running" : "not given")} />
        <Figure label="Spans" value={formatCount(spans)} />
        <Figure label="Errors" value={formatCount(errors)} {...(errors > 0 ? { tone: "error" as const } : {})} />
      </dl>
      {tree.nodes.length > 0 && <OwnTime tree={tree} extent={extent} />}
    </div>
  );
});

/** Where the time went: own time by kind. */
function OwnTime({ tree, extent }: { tree: Tree; extent: Stretch }) {
  const times = useMemo(() => ownTimeByKind(tree, extent.to), [tree, extent]);
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const shown = kinds.filter((kind) => (times.get(kind) ?? 0) > 0);
  if (total === 0) return null;
  const shareOf = (kind: (typeof kinds)[number]) => (times.get(kind) ?? 0) / total;
  return (
    <div class="own-time">
      <p>Where the time went</p>
      <div class="own-time-line">
        <div class="own-time-bar" aria-hidden="true">
          {shown.map((kind) => (
            <i key={kind} class={`kind-${kind}`} style={{ width: `${shareOf(kind) * 100}%` }} />
          ))}
        </div>
        <ul>
          {shown.map((kind) => (
            <li key={kind} class={`kind-${kind}`} title={formatDuration(times.get(kind) ?? 0)}>
              {kindNames[kind]} {formatShare(shareOf(kind))}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
