import { z } from "zod";

/** The ranges that can be asked for, and how many UTC days each has, today included. */
const rangeDays = { today: 1, "7d": 7, "30d": 30 } as const;

/** `today`, `7d` or `30d`. */
type Range = keyof typeof rangeDays;

const ranges = Object.keys(rangeDays) as [Range, ...Range[]];

/** `7d` where neither a range nor days of the client's choice are given (design, "Statistics"). */
const defaultRange: Range = "7d";

/** The longest span of `from` and `to`: a leap year. It bounds the rows that an answer adds up. */
export const maxDays = 366;

const dayMs = 86_400_000;

/** Imports begin with 1970; Postgres, unlike the form, has no year 0. */
const dayMessage = "Must be a day as YYYY-MM-DD, 1970-01-01 or later";
const day = z.iso.date(dayMessage).refine((text) => text >= "1970-01-01", dayMessage);

/** The query parameters that say which UTC days are asked for; `checkRange` holds them to each other. */
export const rangeParameters = {
  range: z
    .enum(ranges)
    .optional()
    .meta({ default: defaultRange, description: "UTC days: `today`, or today and the 6 or 29 days before it" }),
  from: day
    .optional()
    .describe(`Extension: the first UTC day, with \`to\` and instead of \`range\`; at most ${maxDays} days in all`),
  to: day.optional().describe("Extension: the last UTC day, included"),
};

interface RangeQuery {
  range?: Range | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Refuses `from` and `to` where one is missing, where they stand beside `range`, and where they span too much. */
export function checkRange({ range, from, to }: RangeQuery, context: z.RefinementCtx): void {
  const refuse = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
  if (from === undefined && to === undefined) return;
  if (range !== undefined) refuse("range", "Must not be given together with from and to");
  if (from === undefined) refuse("from", "Required together with to");
  else if (to === undefined) refuse("to", "Required together with from");
  else if (to < from) refuse("to", "Must not be before from");
  else if (countDays({ first: from, last: to }) > maxDays) {
    refuse("to", `Must be so that from and to span at most ${maxDays} days, both included`);
  }
}

/** UTC days as `YYYY-MM-DD`, the first and the last both included. */
export interface Days {
  first: string;
  last: string;
}

/** The members by which an answer says what was asked for. */
export type AskedRange = { range: Range } | { range: "custom"; from: string; to: string };

/** What a checked query asks for: the days, and the members that say so in the answer. */
export function resolveRange({ range = defaultRange, from, to }: RangeQuery, now: Date): { asked: AskedRange } & Days {
  if (from !== undefined && to !== undefined) return { asked: { range: "custom", from, to }, first: from, last: to };
  const last = toDay(now.getTime());
  return { asked: { range }, first: addDays(last, 1 - rangeDays[range]), last };
}

/** As many days, ending on the day before the first. */
export function previousDays(days: Days): Days {
  return { first: addDays(days.first, -countDays(days)), last: addDays(days.first, -1) };
}

/** Every day of the span, in order. */
export function listDays(days: Days): string[] {
  return Array.from({ length: countDays(days) }, (_, index) => addDays(days.first, index));
}

function countDays({ first, last }: Days): number {
  return (Date.parse(last) - Date.parse(first)) / dayMs + 1;
}

function addDays(from: string, count: number): string {
  return toDay(Date.parse(from) + count * dayMs);
}

function toDay(millis: number): string {
  return new Date(millis).toISOString().slice(0, 10);
}
