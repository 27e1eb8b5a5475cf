import type { AgentFigures } from "../../src/agents/agents.route.js";
import { formatShare, formatThings } from "../ui/format.js";

type Counts = Pick<AgentFigures, "ended" | "failures">;

/** A share of the ended traces, as the API has it. */
export function failureRate({ ended, failures }: Counts): number {
  return ended === 0 ? 0 : failures / ended;
}

/** The change of the rate in points of a percent; undefined where one of the ranges has no ended traces, or nothing changed. */
function rateChange(now: Counts, before: Counts): number | undefined {
  if (now.ended === 0 || before.ended === 0) return undefined;
  const points = Math.round((failureRate(now) - failureRate(before)) * 100);
  return points === 0 ? undefined : points;
}

export function FailureRate({ agent }: { agent: AgentFigures }) {
  const rate = failureRate(agent);
  const change = rateChange(agent, agent.before);
  return (
    <span class="failure-rate">
      <span class="meter rate-bar" aria-hidden="true">
        <span style={{ width: `${rate * 100}%` }} />
      </span>
      {formatShare(rate)}
      {change !== undefined && (
        <span class={change > 0 ? "change is-loss" : "change"}>
          <span aria-hidden="true">{change > 0 ? "▲" : "▼"}</span>
          <span class="sr-only">{change > 0 ? "up" : "down"}</span> {formatThings(Math.abs(change), "point")}
        </span>
      )}
    </span>
  );
}
