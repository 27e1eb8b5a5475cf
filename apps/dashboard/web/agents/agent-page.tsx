import "./agents.css";
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import type { AgentDetail, AgentTrace } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { ButtonLink } from "../ui/button.js";
import { formatCount, formatDay, formatDuration, formatShare, formatThings } from "../ui/format.js";
import { Loaded, MissingPage, Page, Panel } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { DayBars, FailureRate, failureRate, fillDays } from "./figures.js";

export function AgentPage() {
  const id = useRoute().params["id"] ?? "";
  const query = useQuery<AgentDetail>(`/agents/${encodeURIComponent(id)}`);
  const actions = <ButtonLink href={`/dashboard/traces?agent=${encodeURIComponent(id)}`}>All traces</ButtonLink>;
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
          <Figure name="Traces">{formatCount(agent.traces)}</Figure>
          <Figure name="Failures">{formatCount(agent.failures)}</Figure>
          <Figure name="Failure rate">
            <FailureRate agent={agent} />
          </Figure>
          {durations && <Figure name="p50">{formatDuration(durations.p50_ms)}</Figure>}
          {durations && <Figure name="p95">{formatDuration(durations.p95_ms)}</Figure>}
          <Figure name="Last trace">
            <Ago iso={agent.last_started_at} />
          </Figure>
        </dl>
        <DayBars from={from} days={agent.days} isLarge />
      </Panel>
      {detail.errors.length > 0 && <Errors detail={detail} />}
      {detail.failures.length > 0 && <Traces name="Latest failures" traces={detail.failures} />}
      {detail.slowest.length > 0 && <Traces name="Slowest traces" traces={detail.slowest} />}
      <Days detail={detail} />
    </>
  );
}

function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
  return (
    <Panel title="Days" isFlush>
      <Table
        name="Days"
        columns={columns}
        rows={fillDays(from, agent.days).reverse()}
        keyOf={({ day }) => day}
        isDense
      />
    </Panel>
  );
}

function Errors({ detail: { agent, errors, groupedFailures } }: { detail: AgentDetail }) {
  const isPart = groupedFailures < agent.failures;
  const counted = isPart ? `Of the latest ${formatThings(groupedFailures, "failure")}` : "Failures";
  const columns: readonly Column<AgentDetail["errors"][number]>[] = [
    {
      text: "Error text, digits left out",
      class: "agent-error",
      cell: ({ text, traceId }) => (
        <a class="mono" href={`/dashboard/traces/${traceId}`}>
          {text}
        </a>
      ),
    },
    { text: counted, isNumber: true, cell: ({ count }) => formatCount(count) },
  ];
  return (
    <Panel title="Errors" isFlush>
      <Table name="Errors" columns={columns} rows={errors} keyOf={({ text }) => text} />
    </Panel>
  );
}

type ShownTrace = AgentTrace & { error?: string | null };

const traceColumns: readonly Column<ShownTrace>[] = [
  {
    text: "Trace",
    class: "agent-trace",
    cell: ({ id, name, error }) => (
      <>
        <a href={`/dashboard/traces/${id}`}>{name}</a>
        {error && <span class="mono agent-trace-error">{error}</span>}
      </>
    ),
  },
  { text: "Duration", isNumber: true, cell: ({ duration_ms: ms }) => ms !== null && formatDuration(ms) },
  { text: "Started", isNumber: true, cell: ({ started_at }) => <Ago iso={started_at} /> },
];

function Traces({ name, traces }: { name: string; traces: readonly ShownTrace[] }) {
  return (
    <Panel title={name} isFlush>
      <Table name={name} columns={traceColumns} rows={traces} />
    </Panel>
  );
}
