import { formatCount, formatDay } from "../ui/format.js";
import { Banner } from "../ui/states.js";

/** The part of `GET /usage` that the list shows. */
export interface TraceUsage {
  traces: { limit: number; current: number; resets_at: string };
  retention_days: number;
}

/** A line from 80 % of the month's traces on; at the limit a banner. */
export function LimitLine({ usage }: { usage: TraceUsage }) {
  const { limit, current, resets_at } = usage.traces;
  if (current < limit * 0.8) return null;
  const count = `${formatCount(current)} of ${formatCount(limit)}`;
  const link = <a href="/dashboard/billing">Plan and usage</a>;
  if (current < limit) {
    return (
      <p class="limit-line">
        {count} traces of this month are used. The count starts anew on {formatDay(resets_at)}, 00:00 UTC. {link}
      </p>
    );
  }
  return (
    <Banner tone="error">
      New traces are refused: {count} traces of this month are used, until {formatDay(resets_at)}, 00:00 UTC. {link}
    </Banner>
  );
}
