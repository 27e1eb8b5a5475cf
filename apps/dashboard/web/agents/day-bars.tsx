import { formatShortDay, formatThings } from "../ui/format.js";
import { type Day, fillDays } from "./figures.js";

const height = 24;

/** Traces per day as bars, failures on top of them. @param from the first of the days */
export function DayBars({ from, days, isLarge }: { from: string; days: readonly Day[]; isLarge?: boolean }) {
  const filled = fillDays(from, days);
  const most = Math.max(1, ...filled.map(({ traces }) => traces));
  const scale = (count: number) => (count === 0 ? 0 : Math.max(1.5, (count / most) * height));
  const width = filled.length * 4;
  return (
    <svg
      class={isLarge ? "day-bars is-large" : "day-bars"}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(filled)}
    >
      {filled.map(({ day, traces, failures }, at) => {
        const [all, failed] = [scale(traces), scale(failures)];
        return (
          <g key={day}>
            <title>{`${formatShortDay(day)}: ${formatThings(traces, "trace")}, ${failures} failed`}</title>
            <rect class="is-day" x={at * 4} y={0} width={4} height={height} />
            <rect class="is-traces" x={at * 4 + 0.5} y={height - all} width={3} height={all} />
            <rect class="is-failed" x={at * 4 + 0.5} y={height - all} width={3} height={failed} />
          </g>
        );
      })}
    </svg>
  );
}

function describe(days: readonly Day[]): string {
  const busy = days.filter(({ traces }) => traces > 0).length;
  return `Traces on ${busy} of ${days.length} days`;
}
