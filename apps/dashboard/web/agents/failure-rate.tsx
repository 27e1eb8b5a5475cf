import type { AgentFigures } from "../../src/agents/agents.route.js";
import { formatShare, formatThings } from "../ui/format.js";
import { failureRate, rateChange } from "./figures.js";

/** The share of failures with a bar, and its change to the 30 days before. */
export function FailureRate({ agent }: { agent: AgentFigures }) {
  const rate = failureRate(agent);
  const change = rateChange(agent, agent.before);
  return (
    <span class="failure-rate">
      <span class="rate-bar" aria-hidden="true">
        <span style={{ width: `${rate * 100}%` }} />
      </span>
      {formatShare(rate)}
      {change !== undefined && (
        <span class={change > 0 ? "rate-change is-worse" : "rate-change"}>
          <span aria-hidden="true">{change > 0 ? "▲" : "▼"}</span>
          <span class="sr-only">{change > 0 ? "up" : "down"}</span> {formatThings(Math.abs(change), "point")}
        </span>
      )}
    </span>
  );
}
