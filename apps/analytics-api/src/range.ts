import { z } from "zod";

/** The ranges that can be asked for, and how many UTC days each has, today included. */
const rangeDays = { today: 1, "7d": 7, "30d": 30 } as const;

/** `today`, `7d` or `30d`. */
export type Range = keyof typeof rangeDays;

const ranges = Object.keys(rangeDays) as [Range, ...Range[]];

/** The query parameter `range`; `7d` where it is omitted (design, "Statistics"). */
export const rangeParameter = z
  .enum(ranges)
  .default("7d")
  .describe("UTC days: `today`, or today and the 6 or 29 days before it");

/** The first and last UTC day of a range, both included, as `YYYY-MM-DD`. */
export function daysOf(range: Range, now: Date): { first: string; last: string } {
  const dayMs = 86_400_000;
  const first = new Date(now.getTime() - (rangeDays[range] - 1) * dayMs);
  return { first: first.toISOString().slice(0, 10), last: now.toISOString().slice(0, 10) };
}
