import type { Costs } from "../../src/costs/costs.route.js";
import type { Curve } from "../statistics/chart-shape.js";
import { addDays } from "../ui/day-range.js";
import { formatCompact } from "../ui/format.js";

export const figureNames = ["cost", "input", "output", "calls"] as const;
export type FigureName = (typeof figureNames)[number];

type Sums = Costs["total"];

export function figureOf({ cost_usd, input_tokens, output_tokens, calls }: Sums, figure: FigureName): number {
  if (figure === "cost") return Number(cost_usd ?? 0);
  return { input: input_tokens, output: output_tokens, calls }[figure];
}

/** The days of a range, without their end. */
function daysOf({ from, to }: Pick<Costs, "from" | "to">): string[] {
  const days: string[] = [];
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day);
  return days;
}

/** A figure on each day; zero without calls. */
export function valuesOn(days: readonly string[], known: Costs["series"], figure: FigureName): number[] {
  const values = new Map(known.map((sums) => [sums.day, figureOf(sums, figure)]));
  return days.map((day) => values.get(day) ?? 0);
}

/** The days of a range that have begun. */
export function begunDays(costs: Pick<Costs, "from" | "to">, now: string): string[] {
  return daysOf(costs).filter((day) => day <= now.slice(0, 10));
}

export function costCurve(costs: Costs, figure: FigureName, now: string): Curve {
  const { series, before } = costs;
  const begun = begunDays(costs, now);
  const beforeTimes = before ? daysOf(before) : [];
  return {
    times: daysOf(costs),
    values: valuesOn(begun, series, figure),
    isUnfinished: begun.at(-1) === now.slice(0, 10),
    before: before ? valuesOn(beforeTimes, before.series, figure) : undefined,
    beforeTimes,
    least: 0,
  };
}

/** Calls may begin so many days after the first of the days before: a weekend. */
const idleDays = 3;

/** A figure of the finished days, beside the same of as many days before; undefined where calls began only within those. */
export function finishedBeside(costs: Costs, figure: FigureName, now: string) {
  const [first] = costs.before?.series ?? [];
  if (!costs.before || !first || first.day > addDays(costs.before.from, idleDays)) return undefined;
  const finished = costs.series.filter(({ day }) => day < now.slice(0, 10));
  const value = finished.reduce((sum, day) => sum + figureOf(day, figure), 0);
  return { value, before: figureOf(costs.before.total, figure) };
}

/** An amount in few signs, for an axis: `$1.2K`, `$15`, `25¢`, `0.35¢`. */
export function formatTick(dollars: number): string {
  return dollars === 0 || dollars >= 1 ? `$${formatCompact(dollars)}` : `${Number((dollars * 100).toPrecision(3))}¢`;
}
