import "./agents.css";
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import type { AgentDetail, AgentTrace } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { ButtonLink } from "../ui/button.js";
import { formatCount, formatDay, formatDuration, formatShare, formatThings } from "../ui/format.js";
import { MissingPage, Page, Panel, Waiting } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { DayBars, FailureRate, failureRate, fillDays } from "./figures.js";

/** One agent: its days, its slowest and its failed traces, and its errors. */
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
      <Waiting of={query} />
      {query.data && <Detail detail={query.data} />}
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

const dayColumns: readonly Column[] = [
  "Day",
  ...["Traces", "Failures", "Failure rate", "p50", "p95"].map((text) => ({ text, isNumber: true })),
];

/** The figures of each day, the latest first. */
function Days({ detail: { agent, dayDurations, from } }: { detail: AgentDetail }) {
  const durations = new Map(dayDurations.map((each) => [each.day, each]));
  const show = (ms: number | undefined) => ms !== undefined && formatDuration(ms);
  return (
    <Panel title="Days" isFlush>
      <Table name="Days" columns={dayColumns} isDense>
        {fillDays(from, agent.days)
          .reverse()
          .map((day) => (
            <tr key={day.day}>
              <th scope="row">{formatDay(day.day)}</th>
              <td class="number">{formatCount(day.traces)}</td>
              <td class="number">{formatCount(day.failures)}</td>
              <td class="number">{day.traces > 0 && formatShare(failureRate(day))}</td>
              <td class="number">{show(durations.get(day.day)?.p50_ms)}</td>
              <td class="number">{show(durations.get(day.day)?.p95_ms)}</td>
            </tr>
          ))}
      </Table>
    </Panel>
  );
}

function Errors({ detail: { agent, errors, groupedFailures } }: { detail: AgentDetail }) {
  const isPart = groupedFailures < agent.failures;
  const counted = isPart ? `Of the latest ${formatThings(groupedFailures, "failure")}` : "Failures";
  return (
    <Panel title="Errors" isFlush>
      <Table name="Errors" columns={["Error text, digits left out", { text: counted, isNumber: true }]}>
        {errors.map(({ text, count, traceId }) => (
          <tr key={text}>
            <th scope="row" class="agent-error">
              <a class="mono" href={`/dashboard/traces/${traceId}`}>
                {text}
              </a>
            </th>
            <td class="number">{formatCount(count)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function Traces({ name, traces }: { name: string; traces: readonly (AgentTrace & { error?: string | null })[] }) {
  return (
    <Panel title={name} isFlush>
      <Table name={name} columns={["Trace", { text: "Duration", isNumber: true }, { text: "Started", isNumber: true }]}>
        {traces.map((trace) => (
          <tr key={trace.id}>
            <th scope="row" class="agent-trace">
              <a href={`/dashboard/traces/${trace.id}`}>{trace.name}</a>
              {trace.error && <span class="mono agent-trace-error">{trace.error}</span>}
            </th>
            <td class="number">{trace.duration_ms === null ? "" : formatDuration(trace.duration_ms)}</td>
            <td class="number">
              <Ago iso={trace.started_at} />
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
