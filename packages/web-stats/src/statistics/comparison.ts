import { addDays, type Days, dayMs, daysOfLastYear, previousDays, toDay } from "./range.js";

export const comparisons = ["previous", "year", "off"] as const;

/** What a range is compared with: the days before it, the same days a year before, nothing. */
export type Comparison = (typeof comparisons)[number];

export function otherDays(comparison: Comparison, range: Days): Days | undefined {
  if (comparison === "off") return undefined;
  return comparison === "year" ? daysOfLastYear(range) : previousDays(range);
}

const minuteMs = 60_000;

/** Of other days the one that stands for the present day of a range, and the whole minute that the present day has come to. */
export function counterpartOf(range: Days, other: Days, now: Date): { day: string; until: Date } | undefined {
  const reached = toDay(now.getTime());
  if (reached < range.first || reached > range.last) return undefined;
  const day = addDays(other.first, (Date.parse(reached) - Date.parse(range.first)) / dayMs);
  const timeOfDay = now.getTime() % dayMs;
  return { day, until: new Date(Date.parse(day) + timeOfDay - (timeOfDay % minuteMs)) };
}
