import "./agents.css";
import type { AgentDurations, AgentFigures, AgentList, DurationList } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Empty, Page, Panel, Waiting } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { DayBars, FailureRate } from "./figures.js";

/** Every agent of the last 30 days, those with most failures first. */
export function AgentsPage() {
  const list = useQuery<AgentList>("/agents");
  // After the counts: percentiles take longer.
  const durations = useQuery<DurationList>(list.data ? "/agent-durations" : undefined);
  return (
    <Page title="Agents" note={noteOf(list.data, durations.data)}>
      <Waiting of={list} />
      {list.data && (
        <Panel isFlush>
          {list.data.agents.length === 0 ? <NoAgents /> : <Agents list={list.data} durations={durations.data} />}
        </Panel>
      )}
    </Page>
  );
}

function noteOf(list: AgentList | undefined, durations: DurationList | undefined): string {
  const note = "The last 30 days, UTC. Changes are against the 30 days before.";
  const traces = list?.agents.reduce((sum, agent) => sum + agent.traces, 0) ?? 0;
  if (!durations || traces <= durations.maxTraces) return note;
  return `${note} Durations are of the latest ${formatCount(durations.maxTraces)} traces.`;
}

function NoAgents() {
  return (
    <Empty title="No agents yet">
      <p>
        An agent appears with its first trace. <a href="/dashboard/traces">Send a trace</a>
      </p>
    </Empty>
  );
}

const columns: readonly Column[] = [
  "Agent",
  { text: "Traces", isNumber: true },
  "Failure rate",
  { text: "p50", isNumber: true },
  { text: "p95", isNumber: true },
  "Traces per day",
  { text: "Last trace", isNumber: true },
];

function Agents({ list, durations }: { list: AgentList; durations: DurationList | undefined }) {
  const byId = new Map(durations?.agents.map((each) => [each.id, each]));
  return (
    <Table name="Agents" columns={columns}>
      {list.agents.map((agent) => (
        <Row key={agent.id} from={list.from} agent={agent} durations={byId.get(agent.id)} />
      ))}
    </Table>
  );
}

function Row({ from, agent, durations }: { from: string; agent: AgentFigures; durations: AgentDurations | undefined }) {
  return (
    <tr>
      <th scope="row" class="agent-name">
        <a class="mono" href={`/dashboard/agents/${encodeURIComponent(agent.id)}`}>
          {agent.id}
        </a>
      </th>
      <td class="number">{formatCount(agent.traces)}</td>
      <td>
        <FailureRate agent={agent} />
      </td>
      <td class="number">{durations && formatDuration(durations.p50_ms)}</td>
      <td class="number">{durations && formatDuration(durations.p95_ms)}</td>
      <td>
        <DayBars from={from} days={agent.days} />
      </td>
      <td class="number">
        <Ago iso={agent.last_started_at} />
      </td>
    </tr>
  );
}
