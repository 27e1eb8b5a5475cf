import type { ContentName, SpanContents } from "@waymark/traces";
import type { Ref } from "preact";
import { useState } from "preact/hooks";
import { useQuery } from "../data/query.js";
import { Scores } from "../scores/scores.js";
import { Button } from "../ui/button.js";
import { formatDuration } from "../ui/format.js";
import { ErrorNote, Figure, Skeleton } from "../ui/page.js";
import { Tabs } from "../ui/tabs.js";
import { ContentView, CutNote } from "./content-view.js";
import { KindIcon } from "./icons.js";
import { LongText } from "./json-view.js";
import { kindNames } from "./kinds.js";
import "./span-details.css";
import { useSettled } from "../ui/use-settled.js";
import { contentNames } from "./spans.js";
import type { Stretch } from "./timeline.js";
import type { Node } from "./tree.js";

const others = contentNames.filter((name) => name !== "error");
const labelOf = (name: ContentName) => name.charAt(0).toUpperCase() + name.slice(1);

interface DetailsProps {
  /** The path of the trace's data. */
  data: string;
  /** Empty for a shared trace. */
  traceId: string;
  node: Node;
  extent: Stretch;
  isRunning: boolean;
  section: Ref<HTMLElement>;
  onClose: (() => void) | undefined;
}

export function SpanDetails({ data, traceId, node, extent, isRunning, section, onClose }: DetailsProps) {
  const { span } = node;
  const asked = useSettled(span.id);
  const hasError = span.isFailed || span.has.error;
  const tabs = (hasError ? (["error", ...others] as const) : others).map((id) => ({ id, label: labelOf(id) }));
  const [chosen, setChosen] = useState<{ span: string; tab: ContentName }>();
  const first: ContentName = hasError ? "error" : span.has.input || !span.has.output ? "input" : "output";
  const tab = chosen?.span === span.id ? chosen.tab : first;
  return (
    <section
      ref={section}
      class={onClose ? "panel is-flush span-details is-sheet" : "panel is-flush span-details"}
      aria-label="Span details"
    >
      <header class="row span-head">
        <h2>
          <KindIcon kind={span.kind} isFailed={span.isFailed} /> {span.name || "(no name)"}
        </h2>
        {span.isFailed && <span class="status is-error">Failed</span>}
        {traceId !== "" && <Scores traceId={traceId} spanId={span.id} name={span.name || "the span"} />}
        {onClose && <Button text="Close details" look="quiet" icon="close" isIconOnly onClick={onClose} />}
        <SpanFigures node={node} extent={extent} isRunning={isRunning} />
      </header>
      <Tabs label="Contents" tabs={tabs} selected={tab} onSelect={(id) => setChosen({ span: span.id, tab: id })}>
        <Contents data={data} node={node} tab={tab} isAsked={asked === span.id} />
      </Tabs>
    </section>
  );
}

function SpanFigures({ node, extent, isRunning }: Pick<DetailsProps, "node" | "extent" | "isRunning">) {
  const { span, mark } = node;
  const length = span.end === undefined ? undefined : span.end - span.start;
  const share = (((span.end ?? extent.to) - span.start) / (extent.to - extent.from)) * 100;
  const isUnended = span.end === undefined && !isRunning;
  const notes = [mark, span.isReversed && "it ends before it starts", isUnended && "no end was sent"].filter(Boolean);
  return (
    <>
      <dl class="row trace-facts">
        <Figure label="Start" value={`+${formatDuration(span.start)}`.replace("+-", "−")} />
        <Figure
          label="Duration"
          value={length === undefined ? (isRunning ? "running" : "no end") : formatDuration(length)}
        />
        <Figure label="Share of the trace" value={share > 0 && share < 0.05 ? "<0.1 %" : `${share.toFixed(1)} %`} />
        <Figure label="Kind" value={kindNames[span.kind]} />
      </dl>
      {notes.length > 0 && <p class="note">Odd: {notes.join("; ")}.</p>}
    </>
  );
}

type ContentsProps = Pick<DetailsProps, "data" | "node"> & { tab: ContentName; isAsked: boolean };

function Contents({ data: trace, node: { span }, tab, isAsked }: ContentsProps) {
  const hasAny = contentNames.some((name) => span.has[name]);
  const path = `${trace}/spans/${span.id}`;
  const staleMs = span.end === undefined ? 0 : Number.POSITIVE_INFINITY;
  const { data, error, isLoading, refetch } = useQuery<SpanContents>(isAsked && hasAny ? path : undefined, { staleMs });
  const view = (name: ContentName) => {
    const text = data?.[name] ?? undefined;
    if (text === undefined && span.has[name] && (isLoading || !data)) return <Skeleton rows={4} />;
    if (text === undefined) return <p class="note">No {name} was sent.</p>;
    return <ContentView key={`${span.id} ${name}`} name={name} text={text} cutBytes={data?.cut[name]} path={path} />;
  };
  const titled = (name: ContentName) =>
    span.has[name] && (
      <>
        <h3 class="content-title">{labelOf(name)}</h3>
        {view(name)}
      </>
    );
  if (error && !data) return <ErrorNote error={error} onRetry={refetch} />;
  if (tab !== "error") return view(tab);
  const text = data?.error ?? span.error;
  return (
    <>
      {text === undefined || text === null ? (
        <p class="note">This span failed without an error text.</p>
      ) : (
        <>
          {data?.cut.error && <CutNote name="error" text={text} cutBytes={data.cut.error} path={path} />}
          <pre key={span.id} class="error-text is-error as-sent">
            <LongText text={text} />
          </pre>
        </>
      )}
      {titled("output")}
      {titled("input")}
    </>
  );
}
