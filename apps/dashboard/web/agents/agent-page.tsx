import "./agents.css";
import { useRoute } from "preact-iso";
import type { AgentDetail, AgentTrace } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { ButtonLink } from "../ui/button.js";
import { formatCount, formatDay, formatDuration, formatShare, formatThings } from "../ui/format.js";
import { Figure, Loaded, MissingPage, Page, Panel } from "../ui/page.js";
import { type Column, TablePanel } from "../ui/table.js";
import { MonoLink } from "../ui/usage.js";
import { DayBars, FailureRate, failureRate, fillDays } from "./figures.js";

export function AgentPage() {
  const id = useRoute().params["id"] ?? "";
  const query = useQuery<AgentDetail>(`/agents/${encodeURIComponent(id)}`);
  const actions = <ButtonLink text="All traces" href={`/dashboard/traces?agent=${encodeURIComponent(id)}`} />;
  if (query.error?.status === 404) {
    return <MissingPage title="Agent not found" reason="No trace of the last 60 days names this agent." />;
  }
  return (
    <Page
      title={id}
      crumbs={<a href="/dashboard/agents">Agents</a>}
      note="The last 30 days, UTC"
      actions={query.data && actions}
    >
      <Loaded of={query}>{(detail) => <Detail detail={detail} />}</Loaded>
    </Page>
  );
}

function Detail({ detail }: { detail: AgentDetail }) {
  const { agent, durations, from } = detail;
  return (
    <>
      <Panel title="Figures">
        <dl class="agent-figures">
          <Figure label="Traces" value={formatCount(agent.traces)} />
          <Figure label="Failures" value={formatCount(agent.failures)} />
          <Figure label="Failure rate" value={<FailureRate agent={agent} />} />
          {durations && <Figure label="p50" value={formatDuration(durations.p50_ms)} />}
          {durations && <Figure label="p95" value={formatDuration(durations.p95_ms)} />}
          <Figure label="Last trace" value={<Ago iso={agent.last_started_at} />} />
        </dl>
        <DayBars from={from} days={agent.days} isLarge />
      </Panel>
      {detail.errors.length > 0 && <Errors detail={detail} />}
      {detail.failures.length > 0 && (
        <TablePanel name="Latest failures" columns={traceColumns} rows={detail.failures} />
      )}
      {detail.slowest.length > 0 && <TablePanel name="Slowest traces" columns={traceColumns} rows={detail.slowest} />}
      <Days detail={detail} />
    </>
  );
}

type Day = ReturnType<typeof fillDays>[number];

function Days({ detail: { agent, dayDurations, from } }: { detail: AgentDetail }) {
  const durations = new Map(dayDurations.map((each) => [each.day, each]));
  const show = (ms: number | undefined) => ms !== undefined && formatDuration(ms);
  const columns: readonly Column<Day>[] = [
    { text: "Day", cell: ({ day }) => formatDay(day) },
    { text: "Traces", isNumber: true, cell: ({ traces }) => formatCount(traces) },
    { text: "Failures", isNumber: true, cell: ({ failures }) => formatCount(failures) },
    { text: "Failure rate", isNumber: true, cell: (day) => day.traces > 0 && formatShare(failureRate(day)) },
    { text: "p50", isNumber: true, cell: ({ day }) => show(durations.get(day)?.p50_ms) },
    { text: "p95", isNumber: true, cell: ({ day }) => show(durations.get(day)?.p95_ms) },
  ];
  const rows = fillDays(from, agent.days).reverse();
  return <TablePanel name="Days" columns={columns} rows={rows} keyOf={({ day }) => day} isDense />;
}

function Errors({ detail: { agent, errors, groupedFailures } }: { detail: AgentDetail }) {
  const isPart = groupedFailures < agent.failures;
  const counted = isPart ? `Of the latest ${formatThings(groupedFailures, "failure")}` : "Failures";
  const columns: readonly Column<AgentDetail["errors"][number]>[] = [
    {
      text: "Error text, digits left out",
      class: "wrap",
      cell: ({ text, traceId }) => <MonoLink href={`/dashboard/traces/${traceId}`} text={text} />,
    },
    { text: counted, isNumber: true, cell: ({ count }) => formatCount(count) },
  ];
  return <TablePanel name="Errors" columns={columns} rows={errors} keyOf={({ text }) => text} />;
}

type ShownTrace = AgentTrace & { error?: string | null };

const traceColumns: readonly Column<ShownTrace>[] = [
  {
    text: "Trace",
    class: "wrap",
    cell: ({ id, name, error }) => (
      <>
        <a href={`/dashboard/traces/${id}`}>{name}</a>
        {error && <span class="mono is-error agent-trace-error">{error}</span>}
      </>
    ),
  },
  { text: "Duration", isNumber: true, cell: ({ duration_ms: ms }) => ms !== null && formatDuration(ms) },
  { text: "Started", isNumber: true, cell: ({ started_at }) => <Ago iso={started_at} /> },
];
