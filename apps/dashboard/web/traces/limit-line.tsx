import { formatBytes, formatCount, formatDay } from "../ui/format.js";
import { Banner } from "../ui/states.js";

/** The part of `GET /usage` that the list shows. */
export interface TraceUsage {
  traces: { limit: number; current: number; resets_at: string };
  bytes: { limit: number; current: number };
  retention_days: number;
}

/** A line from 80 % of the month's traces or bytes on; when its traces are used up a banner. */
export function LimitLine({ usage: { traces, bytes } }: { usage: TraceUsage }) {
  const { limit, current, resets_at } = traces;
  const count = `${formatCount(current)} of ${formatCount(limit)} traces`;
  const stored = `${formatBytes(bytes.current)} of ${formatBytes(bytes.limit)}`;
  const isFull = current >= limit;
  const isNear = (used: { limit: number; current: number }) => used.current >= used.limit * 0.8;
  const used = [isNear(traces) && !isFull && count, isNear(bytes) && stored].filter(Boolean).join(" and ");
  const link = <a href="/dashboard/billing">Plan and usage</a>;
  return (
    <>
      {isFull && (
        <Banner tone="error">
          New traces are refused: {count} of this month are used, until {formatDay(resets_at)}, 00:00 UTC. {link}
        </Banner>
      )}
      {used && (
        <p class="limit-line">
          {used} of this month are used. The count starts anew on {formatDay(resets_at)}, 00:00 UTC. {link}
        </p>
      )}
    </>
  );
}
