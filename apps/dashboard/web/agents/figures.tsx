import type { AgentFigures } from "../../src/agents/agents.route.js";
import { addDays } from "../ui/day-range.js";
import { formatShare, formatShortDay, formatThings } from "../ui/format.js";

type Day = AgentFigures["days"][number];

const shownDays = 30;

function fillDays(from: string, days: readonly Day[], shown = shownDays): Day[] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: shown }, (_, at) => {
    const day = addDays(from, at);
    return known.get(day) ?? { day, traces: 0, failures: 0 };
  });
}

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
