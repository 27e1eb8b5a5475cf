import type { AgentNames } from "../../src/traces/traces.route.js";
import { hasAnswer, useQuery } from "../data/query.js";

/** The agent that a list is of, or any. */
export function AgentSelect({ agent, onAgent }: { agent: string; onAgent(agent: string): void }) {
  // The rows come first.
  const { data } = useQuery<AgentNames>(hasAnswer.value ? "/traces/agents" : undefined, { staleMs: 30_000 });
  const names = data?.agents ?? [];
  const shown = agent === "" || names.includes(agent) ? names : [agent, ...names];
  return (
    <select class="button" aria-label="Agent" value={agent} onChange={(event) => onAgent(event.currentTarget.value)}>
      <option value="">Agent: any</option>
      {shown.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
