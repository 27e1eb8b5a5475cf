import "./day-bars.css";
import { addDays } from "./day-range.js";
import { formatShortDay, formatThings } from "./format.js";

interface Day {
  day: string;
  traces: number;
  failures: number;
}

const shownDays = 30;

function fillDays(from: string, days: readonly Day[], shown = shownDays): Day[] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: shown }, (_, at) => {
    const day = addDays(from, at);
    return known.get(day) ?? { day, traces: 0, failures: 0 };
  });
}

const height = 24;

/** A bar of the day at an index, above `bottom`. All bars are one path: a list has 200 agents. */
const drawBar = (at: number, size: number, bottom = height) =>
  size > 0 ? `M${at * 4 + 0.5} ${bottom}h3v${-size}h-3z` : "";

const sizeOf = (value: number, most: number) => (value > 0 ? Math.max(1.5, (value / most) * height) : 0);

interface BarsProps {
  from: string;
  days: readonly Day[];
  shown?: number;
  isLarge?: boolean;
}

export function DayBars({ from, days, shown, isLarge }: BarsProps) {
  const filled = fillDays(from, days, shown);
  const most = Math.max(1, ...filled.map(({ traces }) => traces));
  const width = filled.length * 4;
  const all = filled.map(({ traces }, at) => drawBar(at, sizeOf(traces, most)));
  const failed = filled.map(({ traces, failures }, at) => {
    const size = sizeOf(failures, most);
    return drawBar(at, size, height - sizeOf(traces, most) + size);
  });
  return (
    <svg
      class={isLarge ? "day-bars is-large" : "day-bars"}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(filled)}
    >
      <path class="is-traces" d={all.join("")} />
      <path class="is-failed" d={failed.join("")} />
      {isLarge &&
        filled.map(({ day, traces, failures }, at) => (
          <rect key={day} class="is-day" x={at * 4} y={0} width={4} height={height}>
            <title>{`${formatShortDay(day)}: ${formatThings(traces, "trace")}, ${failures} failed`}</title>
          </rect>
        ))}
    </svg>
  );
}

function describe(days: readonly Day[]): string {
  const busy = days.filter(({ traces }) => traces > 0).length;
  return `Traces on ${busy} of ${days.length} days`;
}

/** Values over days, on the scale of `most`. */
export function ValueBars({ values, most, label }: { values: readonly number[]; most: number; label: string }) {
  return (
    <svg
      class="day-bars"
      viewBox={`0 0 ${values.length * 4} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="is-traces" d={values.map((value, at) => drawBar(at, sizeOf(value, most))).join("")} />
    </svg>
  );
}
