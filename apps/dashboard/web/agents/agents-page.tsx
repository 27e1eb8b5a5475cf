import "./agents.css";
import type { AgentFigures, AgentList, DurationList } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { DayBars } from "../ui/day-bars.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Empty, Loaded, Page, Panel } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { MonoLink } from "../ui/usage.js";
import { FailureRate, failureRate } from "./figures.js";

export function AgentsPage() {
  const list = useQuery<AgentList>("/agents");
  // After the counts: percentiles take longer.
  const durations = useQuery<DurationList>(list.data ? "/agent-durations" : undefined);
  return (
    <Page title="Agents" note={noteOf(list.data, durations.data)} actions={<ExportMenu path="/exports/agents" />}>
      <Loaded of={list}>
        {(loaded) => (
          <Panel isFlush>
            {loaded.agents.length === 0 ? <NoAgents /> : <Agents list={loaded} durations={durations.data} />}
          </Panel>
        )}
      </Loaded>
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

function Agents({ list: { agents, from }, durations }: { list: AgentList; durations: DurationList | undefined }) {
  const byId = new Map(durations?.agents.map((each) => [each.id, each]));
  const show = (ms: number | undefined) => ms !== undefined && formatDuration(ms);
  const columns: readonly Column<AgentFigures>[] = [
    {
      text: "Agent",
      by: ({ id }) => id,
      class: "wrap agent-name",
      cell: ({ id }) => <MonoLink href={`/dashboard/agents/${encodeURIComponent(id)}`} text={id} />,
    },
    { text: "Traces", isNumber: true, by: ({ traces }) => traces, cell: ({ traces }) => formatCount(traces) },
    { text: "Failure rate", by: failureRate, cell: (agent) => <FailureRate agent={agent} /> },
    { text: "p50", isNumber: true, by: ({ id }) => byId.get(id)?.p50_ms, cell: ({ id }) => show(byId.get(id)?.p50_ms) },
    { text: "p95", isNumber: true, by: ({ id }) => byId.get(id)?.p95_ms, cell: ({ id }) => show(byId.get(id)?.p95_ms) },
    { text: "Traces per day", cell: ({ days }) => <DayBars from={from} days={days} /> },
    {
      text: "Last trace",
      isNumber: true,
      by: ({ last_started_at }) => Date.parse(last_started_at),
      cell: ({ last_started_at }) => <Ago iso={last_started_at} />,
    },
  ];
  return <Table isCards name="Agents" columns={columns} rows={agents} textOf={({ id }) => id} />;
}
