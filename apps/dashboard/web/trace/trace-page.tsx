import { useLocation, useRoute } from "preact-iso";
import type { LastSuccess } from "../../src/compare/last-success.route.js";
import type { TraceUsage } from "../../src/trace/trace.route.js";
import { useMayChange, useMe, useQuery } from "../data/query.js";
import { ErrorNote, Figure, Page, Skeleton, StatusDot } from "../ui/page.js";
import "./trace.css";
import type { OutlineTrace } from "@waymark/traces";
import type { FunctionComponent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../data/api.js";
import { queryOf } from "../data/paths.js";
import { Scores } from "../scores/scores.js";
import { ScoresDialog } from "../scores/scores-dialog.js";
import type { ShareTraceProps } from "../sharing/share-panel.js";
import { Moment } from "../ui/ago.js";
import { announce } from "../ui/announce.js";
import { ButtonLink } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { Confirm } from "../ui/dialog.js";
import { TextField } from "../ui/form.js";
import { formatCount, formatDuration, formatShare } from "../ui/format.js";
import { type LabelName, labelFilters } from "../ui/labels.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { Cost, Tokens } from "../ui/usage.js";
import { useKeys } from "../ui/use-keys.js";
import { useNarrow } from "../ui/use-size.js";
import { neighbourOf } from "./address.js";
import { HelpDialog } from "./help-dialog.js";
import { takeKey } from "./keys.js";
import { colorOf, kindNames, kinds } from "./kinds.js";
import { memo } from "./memo.js";
import { MissingTrace } from "./missing-trace.js";
import { Overview } from "./overview.js";
import { SpanDetails } from "./span-details.js";
import { SpanTree } from "./span-tree.js";
import { ownTimeByKind, type Stretch } from "./timeline.js";
import type { Tree } from "./tree.js";
import { type Outline, useOutline } from "./use-outline.js";
import { useView } from "./use-view.js";

/** The comparison shares most of its script with this page, and is a part of its own after it. */
export const loadComparePage = () => import("../compare/compare-page.js").then((m) => m.ComparePage);

export function TracePage() {
  const id = useRoute().params["id"] ?? "";
  const outline = useOutline(`/traces/${id}`);
  const { trace, error, refetch } = outline;
  if (error?.status === 404) return <MissingTrace />;
  if (!trace) {
    return (
      <Page title={error ? "Trace" : ""} crumbs={<a href="/dashboard/traces">Traces</a>}>
        {error ? <ErrorNote error={error} onRetry={refetch} /> : <Skeleton rows={12} />}
      </Page>
    );
  }
  return (
    <Page
      title={trace.name || "(no name)"}
      crumbs={
        <>
          <a href="/dashboard/traces">Traces</a> /{" "}
          <a href={`/dashboard/traces?agent=${encodeURIComponent(trace.agent_id)}`}>{trace.agent_id}</a>
        </>
      }
      aside={<StatusDot state={trace.status} />}
      actions={<TraceActions trace={trace} />}
    >
      <TraceViewer key={id} data={`/traces/${id}`} outline={{ ...outline, trace }} />
    </Page>
  );
}

function TraceActions({ trace }: { trace: OutlineTrace }) {
  const [isDeleting, setDeleting] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const { data: me } = useMe();
  const mayShare = useMayChange();
  const copyId = () => void navigator.clipboard?.writeText(trace.id).then(() => announce("Copied"));
  return (
    <>
      <WhatChanged trace={trace} />
      <CopyButton label="Copy link" text={() => location.href} />
      <ButtonLink text="JSON" icon="download" href={`/dashboard/api/traces/${trace.id}/export`} download />
      <Menu label="More" icon="more" isIconOnly>
        <MenuItem onClick={copyId}>Copy id</MenuItem>
        {mayShare && <MenuItem onClick={() => setSharing(true)}>Share</MenuItem>}
        {me?.role === "owner" && <MenuItem onClick={() => setDeleting(true)}>Delete</MenuItem>}
      </Menu>
      {isSharing && <ShareTrace trace={trace} onClose={() => setSharing(false)} />}
      {isDeleting && <DeleteDialog trace={trace} onClose={() => setDeleting(false)} />}
    </>
  );
}

/** Its dialog loads when it is first opened. */
function ShareTrace(props: ShareTraceProps) {
  const [Loaded, setLoaded] = useState<FunctionComponent<ShareTraceProps>>();
  useEffect(() => {
    import("../sharing/share-panel.js").then((module) => setLoaded(() => module.ShareTraceDialog), props.onClose);
  }, []);
  return Loaded ? <Loaded {...props} /> : null;
}

const hasFailed = ({ status }: OutlineTrace) => status === "error" || status === "timeout";

/** The page that sets a failed trace beside its agent's last success; null without one, undefined until that is known. */
function useComparison(trace: OutlineTrace): string | null | undefined {
  const path = trace.id !== "" && hasFailed(trace) ? `/traces/${trace.id}/last-success` : undefined;
  const { data } = useQuery<LastSuccess>(path, { staleMs: 60_000 });
  return data && (data.trace ? `/dashboard/traces/${trace.id}/compare/${data.trace.id}` : null);
}

function WhatChanged({ trace }: { trace: OutlineTrace }) {
  const href = useComparison(trace);
  useEffect(() => {
    if (href) void loadComparePage();
  }, [href]);
  if (href === null) return <span class="note">No success of this agent to compare with</span>;
  return href ? <ButtonLink text="What changed?" href={href} aria-keyshortcuts="c" /> : null;
}

function DeleteDialog({ trace, onClose }: { trace: OutlineTrace; onClose(): void }) {
  const { route } = useLocation();
  const [typed, setTyped] = useState("");
  const word = trace.name.trim().split(/\s+/)[0] || trace.id.slice(0, 8);
  const remove = { work: () => api.delete(`/traces/${trace.id}`), invalidates: ["/traces?"] };
  return (
    <Confirm
      title="Delete this trace?"
      verb="Delete trace"
      isReady={typed.trim() === word}
      {...remove}
      onDone={() => route("/dashboard/traces", true)}
      onClose={onClose}
    >
      <p>Its spans are deleted with it. This cannot be undone.</p>
      <TextField label={`Type ${word} to delete it`} value={typed} onValue={setTyped} autocomplete="off" />
    </Confirm>
  );
}

interface ViewerProps {
  /** The path of the trace's data. */
  data: string;
  outline: Outline & { trace: OutlineTrace };
}

/** A trace without an id is a shared one: it leads nowhere else. */
export function TraceViewer({ data, outline }: ViewerProps) {
  const { trace, isPartial } = outline;
  const [lanePixels, setLanePixels] = useState(360);
  const view = useView(outline, lanePixels);
  const finder = useRef<HTMLInputElement>(null);
  const details = useRef<HTMLElement>(null);
  const isNarrow = useNarrow(1_000);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isScoring, setScoring] = useState(false);
  const { route } = useLocation();
  const comparison = useComparison(trace);
  const open = (step: number) => {
    const id = neighbourOf(trace.id, step);
    if (id) route(`/dashboard/traces/${id}`);
  };
  const hideDetails = () => {
    view.setSheet(false);
    document.querySelector<HTMLElement>("[role=tree]")?.focus({ preventScroll: true });
  };
  const commands = {
    openDetails: () => {
      view.setSheet(true);
      requestAnimationFrame(() => details.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
    },
    hideDetails,
    focusFind: () => finder.current?.focus(),
    openNext: () => open(1),
    openPrevious: () => open(-1),
    openComparison: () => comparison && route(comparison),
    openScores: () => setScoring(trace.id !== ""),
    openHelp: () => setHelpOpen(true),
  };
  useKeys((event) => takeKey(event, view, commands));
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
              data={data}
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
      {isScoring && (
        <ScoresDialog of={{ traceId: trace.id, spanId: null, name: "the trace" }} onClose={() => setScoring(false)} />
      )}
      {isHelpOpen && <HelpDialog keys={trace.id === "" ? sharedKeys : keys} onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

const runningPollMs = 5_000;
const maxTitled = 20;

const TraceFigures = memo(({ trace, tree, extent }: { trace: OutlineTrace; tree: Tree; extent: Stretch }) => {
  const counted = tree.nodes.reduce((sum, { span }) => sum + Number(span.isFailed), 0);
  const spans = Math.max(trace.spans ?? 0, tree.nodes.length);
  const errors = Math.max(trace.errors ?? 0, counted);
  const ended = trace.ended_at;
  const duration = ended ? formatDuration(Date.parse(ended) - Date.parse(trace.started_at)) : undefined;
  return (
    <div class="row trace-figures">
      <dl class="row trace-facts">
        <Figure label="Started" value={<Moment iso={trace.started_at} />} />
        <Figure label="Duration" value={duration ?? (trace.status === "running" ? "running" : "not given")} />
        <UsageFigures trace={trace} />
        <Figure label="Spans" value={formatCount(spans)} />
        <Figure label="Errors" value={formatCount(errors)} {...(errors > 0 ? { tone: "error" as const } : {})} />
      </dl>
      {tree.nodes.length > 0 && <OwnTime tree={tree} extent={extent} />}
      <LabelLinks of={trace} />
      {trace.id !== "" && <Scores traceId={trace.id} spanId={null} name="the trace" />}
    </div>
  );
});

function UsageFigures({ trace: { id, status } }: { trace: OutlineTrace }) {
  const pollMs = status === "running" ? runningPollMs : undefined;
  const { data: usage } = useQuery<TraceUsage>(id === "" ? undefined : `/traces/${id}/usage`, { pollMs });
  if (!usage) return null;
  const models = [...new Set(usage.models.flatMap(({ model }) => model ?? []))];
  const [first, ...others] = models;
  return (
    <>
      {first !== undefined && (
        <Figure
          label={others.length > 0 ? "Models" : "Model"}
          value={
            <span class="trace-model cut" title={models.slice(0, maxTitled).join(", ")}>
              <bdi>{first}</bdi>
              {others.length > 0 && ` and ${formatCount(others.length)} more`}
            </span>
          }
        />
      )}
      {usage.input_tokens + usage.output_tokens > 0 && <Figure label="Tokens" value={<Tokens of={usage} />} />}
      {usage.cost_usd !== null && <Figure label="Cost" value={<Cost usd={usage.cost_usd} />} />}
    </>
  );
}

function LabelLinks({ of: { session_id: session, user_id: user, environment, release, tags } }: { of: OutlineTrace }) {
  const tracesWith = (label: LabelName, text: string) => `/dashboard/traces${queryOf({ [label]: text })}`;
  const links: [label: LabelName, text: string | null, href?: string][] = [
    ["session", session, session === null ? "" : `/dashboard/conversations/${encodeURIComponent(session)}`],
    ["user", user],
    ["environment", environment],
    ["release", release],
    ...tags.map((tag): [LabelName, string] => ["tag", tag]),
  ];
  const given = links.filter(([, text]) => text !== null);
  if (given.length === 0) return null;
  return (
    <ul class="row label-links" aria-label="Labels">
      {given.map(([label, text, href]) => (
        <li key={`${label} ${text}`}>
          <a class="cut" title={text ?? ""} href={href ?? tracesWith(label, text ?? "")}>
            <span class="soft">{labelFilters[label].label}</span> <bdi>{text}</bdi>
          </a>
        </li>
      ))}
    </ul>
  );
}

function OwnTime({ tree, extent }: { tree: Tree; extent: Stretch }) {
  const times = useMemo(() => ownTimeByKind(tree, extent.to), [tree, extent]);
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const shown = kinds.filter((kind) => (times.get(kind) ?? 0) > 0);
  if (total === 0) return null;
  const shareOf = (kind: (typeof kinds)[number]) => (times.get(kind) ?? 0) / total;
  return (
    <div class="own-time">
      <p>Where the time went</p>
      <div class="row own-time-line">
        <div class="own-time-bar" aria-hidden="true">
          {shown.map((kind) => (
            <i key={kind} style={{ width: `${shareOf(kind) * 100}%`, ...colorOf(kind) }} />
          ))}
        </div>
        <ul class="row">
          {shown.map((kind) => (
            <li key={kind} style={colorOf(kind)} title={formatDuration(times.get(kind) ?? 0)}>
              {kindNames[kind]} {formatShare(shareOf(kind))}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const keys: readonly [string, string][] = [
  ["↑ ↓ or K J", "previous and next span"],
  ["← → or H L", "close and open, to the parent and the first child"],
  ["E", "next error"],
  ["C", "what changed: a failed trace beside the last success"],
  ["S", "scores of the trace"],
  ["F", "zoom to the span, and back to all"],
  ["Enter, Esc", "to the span's details, and back"],
  ["/", "find in this trace"],
  ["[ ]", "previous and next trace of the list"],
  ["?", "this help"],
];

/** A shared trace has no others and no scores. */
const sharedKeys = keys.filter(([key]) => !["C", "S", "[ ]"].includes(key));
