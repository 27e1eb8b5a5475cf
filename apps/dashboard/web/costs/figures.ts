import type { Costs } from "../../src/costs/costs.route.js";
import type { Curve } from "../statistics/chart-shape.js";
import { formatCompact } from "../ui/format.js";

export const figureNames = ["cost", "input", "output", "calls"] as const;
export type FigureName = (typeof figureNames)[number];

type Sums = Costs["total"];

export function figureOf({ cost_usd, input_tokens, output_tokens, calls }: Sums, figure: FigureName): number {
  if (figure === "cost") return Number(cost_usd ?? 0);
  return { input: input_tokens, output: output_tokens, calls }[figure];
}

const dayMs = 86_400_000;

export function costCurve({ from, to, series }: Costs, figure: FigureName, now: string): Curve {
  const known = new Map(series.map((day) => [day.day, day]));
  const times: string[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += dayMs) times.push(new Date(at).toISOString().slice(0, 10));
  const today = now.slice(0, 10);
  const begun = times.filter((day) => day <= today);
  return {
    times,
    values: begun.map((day) => {
      const sums = known.get(day);
      return sums ? figureOf(sums, figure) : 0;
    }),
    isUnfinished: begun.at(-1) === today,
    before: undefined,
    beforeTimes: [],
    least: 0,
  };
}

/** An amount in few signs, for an axis: `$1.2K`, `$15`, `25¢`, `0.35¢`. */
export function formatTick(dollars: number): string {
  return dollars === 0 || dollars >= 1 ? `$${formatCompact(dollars)}` : `${Number((dollars * 100).toPrecision(3))}¢`;
}
