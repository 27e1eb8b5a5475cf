import "./agents.css";
import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { AgentDetail, AgentTrace } from "../../src/agents/agents.route.js";
import type { FailureList } from "../../src/failures/failures.route.js";
import { RulesPanel, useMayChangeRules } from "../channels/rules.js";
import { queryOf } from "../data/paths.js";
import { useQuery } from "../data/query.js";
import { Chart, FigureButtons } from "../statistics/chart.js";
import { Ago } from "../ui/ago.js";
import { ButtonLink } from "../ui/button.js";
import { formatCount, formatDuration, formatShare } from "../ui/format.js";
import { type Labels, labelQuery } from "../ui/labels.js";
import { useRecentDays } from "../ui/list-filters.js";
import { Empty, Loaded, MissingPage, Page } from "../ui/page.js";
import { zone } from "../ui/preferences.js";
import { type Column, TablePanel } from "../ui/table.js";
import { Cost, MonoLink, Tokens } from "../ui/usage.js";
import { AgentScoresPanels } from "./agent-scores.js";
import { type FigureName, figureLooks, figureNames, seriesCurve, totalOf } from "./series.js";

const choices = ["1", "2", "7", "30", "90"];
/** Longer ranges are drawn by day. */
const mostDaysByHour = 2;

export function AgentPage() {
  const id = useRoute().params["id"] ?? "";
  const { days, labels, ownFilters, query } = useRecentDays(choices, ["environment", "release"]);
  const byHour = Number(days) <= mostDaysByHour ? "&interval=hour" : "";
  const detail = useQuery<AgentDetail>(`/agents/${encodeURIComponent(id)}${query}${byHour}`, { keepPrevious: true });
  const mayChange = useMayChangeRules();
  const error = detail.data === undefined ? detail.error : undefined;
  if (error?.status === 404) {
    return <MissingPage title="Agent not found" reason="This account has no agent of this name." />;
  }
  const asked = detail.data && { ...labelQuery(labels), from: detail.data.from };
  return (
    <Page
      title={id}
      crumbs={<a href="/dashboard/agents">Agents</a>}
      note="UTC days, by the start of a trace or call"
      actions={<ButtonLink text="All traces" href={`/dashboard/traces${queryOf({ agent: id })}`} />}
    >
      {ownFilters}
      {error?.fields["from"] ? (
        <Empty title="Too many traces to sum" text="Choose fewer days." />
      ) : (
        <Loaded of={detail}>{(loaded) => <Detail id={id} detail={loaded} labels={labels} />}</Loaded>
      )}
      {asked && (
        <>
          <Failures id={id} days={days} query={queryOf({ ...asked, agent_id: id, limit: shownFailures })} />
          <AgentScoresPanels path={`/agents/${encodeURIComponent(id)}/scores${queryOf(asked)}`} />
          <RulesPanel
            title="Budgets and rules"
            mayChange={mayChange}
            shows={(rule) => rule.agent_id === id}
            initial={{ about: "month", agent: id }}
          />
          {detail.data && detail.data.slowest.length > 0 && (
            <TablePanel isCards name="Slowest traces" columns={traceColumns} rows={detail.data.slowest} />
          )}
        </>
      )}
    </Page>
  );
}

/** The list of the agent's traces of the range. */
type LinkTo = (more: Labels & { status?: string; longer?: number }) => string;

function Detail({ id, detail, labels }: { id: string; detail: AgentDetail; labels: Labels }) {
  const [figure, setFigure] = useState<FigureName>("traces");
  const { from, to } = detail;
  const linkTo: LinkTo = (more) =>
    `/dashboard/traces${queryOf({ agent: id, ...labels, ...more, from: from.slice(0, 10), to: to.slice(0, 10) })}`;
  const curve = seriesCurve(detail, figure);
  const look = figureLooks[figure];
  const figures = figureNames.map((name) => ({ name, label: figureLooks[name].label, value: totalOf(detail, name) }));
  const opened = look.opens(detail);
  return (
    <>
      <section class="panel is-flush" aria-label="Over time">
        <FigureButtons figures={figures} selected={figure} onSelect={(name) => setFigure(name)} />
        <Chart curve={curve} look={look} />
        <p class="note agent-opens">
          <a href={linkTo(opened.filter)}>{opened.text}</a>
          {zone.value !== "UTC" && " The list has days of your time zone."}
        </p>
      </section>
      <Split name="Releases" label="release" of={detail.releases} linkTo={linkTo} />
      <Split name="Environments" label="environment" of={detail.environments} linkTo={linkTo} />
    </>
  );
}

interface SplitProps {
  name: string;
  label: "release" | "environment";
  of: AgentDetail["releases"];
  linkTo: LinkTo;
}

type SplitRow = AgentDetail["releases"]["rows"][number];

const splitColumns: readonly Column<SplitRow>[] = [
  { text: "Traces", isNumber: true, by: ({ traces }) => traces, cell: ({ traces }) => formatCount(traces) },
  {
    text: "Failure rate",
    isNumber: true,
    by: ({ failure_rate: rate }) => rate,
    cell: ({ failure_rate: rate }) => rate !== null && formatShare(rate),
  },
  {
    text: "p50",
    isNumber: true,
    by: ({ p50_ms: ms }) => ms,
    cell: ({ p50_ms: ms }) => ms !== null && formatDuration(ms),
  },
  {
    text: "p95",
    isNumber: true,
    by: ({ p95_ms: ms }) => ms,
    cell: ({ p95_ms: ms }) => ms !== null && formatDuration(ms),
  },
  {
    text: "Tokens",
    isNumber: true,
    by: (row) => row.input_tokens + row.output_tokens,
    cell: (row) => <Tokens of={row} />,
  },
  {
    text: "Cost",
    isNumber: true,
    by: ({ cost_usd: usd }) => usd && Number(usd),
    cell: ({ cost_usd: usd }) => <Cost usd={usd} />,
  },
];

function Split({ name, label, of: { rows, count }, linkTo }: SplitProps) {
  if (rows.every(({ value }) => value === null)) return null;
  const column: Column<SplitRow> = {
    text: count > rows.length ? `The ${rows.length} with most traces` : label[0]?.toUpperCase() + label.slice(1),
    class: "wrap agent-name",
    by: ({ value }) => value,
    cell: ({ value }) =>
      value === null ? (
        <span class="soft">None told</span>
      ) : (
        <MonoLink href={linkTo({ [label]: value })} text={value} />
      ),
  };
  const textOf = ({ value }: SplitRow) => value ?? "";
  return (
    <TablePanel isCards name={name} columns={[column, ...splitColumns]} rows={rows} keyOf={textOf} textOf={textOf} />
  );
}

const shownFailures = 10;

const failureColumns: readonly Column<FailureList["failures"][number]>[] = [
  {
    text: "Failure",
    class: "wrap agent-name",
    cell: ({ id, error, span_name }) => (
      <>
        <MonoLink href={`/dashboard/failures/${id}`} text={error ?? "No error text"} />
        <span class="hint">{span_name === null ? "no failing span" : `in ${span_name}`}</span>
      </>
    ),
  },
  { text: "Traces", isNumber: true, cell: ({ count }) => formatCount(count) },
  { text: "Last", isNumber: true, cell: ({ last_at }) => <Ago iso={last_at} /> },
];

function Failures({ id, days, query }: { id: string; days: string; query: string }) {
  const { data } = useQuery<FailureList>(`/failures${query}`, { keepPrevious: true });
  if (!data || data.failures.length === 0) return null;
  return (
    <>
      <TablePanel isRoomy isCards name="Open failures" columns={failureColumns} rows={data.failures} />
      {data.next_cursor !== null && <a href={`/dashboard/failures${queryOf({ agent: id, days })}`}>All failures</a>}
    </>
  );
}

const traceColumns: readonly Column<AgentTrace>[] = [
  { text: "Trace", class: "wrap", cell: ({ id, name }) => <a href={`/dashboard/traces/${id}`}>{name}</a> },
  { text: "Duration", isNumber: true, cell: ({ duration_ms: ms }) => ms !== null && formatDuration(ms) },
  { text: "Started", isNumber: true, cell: ({ started_at }) => <Ago iso={started_at} /> },
];
