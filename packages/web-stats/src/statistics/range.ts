import { uuidV7Floor } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { asParameter } from "@waymark/service/fields";
import { z } from "zod";
import { contractNames, furtherNames, listNames } from "../lists/lists.js";
import { type Filter, FilterError, filterBounds, filterDimensions, operators, parseFilters } from "./filters/filter.js";
import { askedNames } from "./metrics.js";

/** The ranges and their number of UTC days, today included. */
const rangeDays = { today: 1, "7d": 7, "30d": 30 } as const;

export type Range = keyof typeof rangeDays;

export const ranges = Object.keys(rangeDays) as [Range, ...Range[]];

export const defaultRange: Range = "7d";

/** The longest span of `from` and `to`: a leap year. It bounds the rows that an answer adds up. */
const maxDays = 366;

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** Imports begin with 1970. Postgres has no year 0, which the format allows. */
const dayMessage = "Must be a day as YYYY-MM-DD, 1970-01-01 or later";
const day = z.iso.date(dayMessage).refine((text) => text >= "1970-01-01", dayMessage);

/** The query parameters of a range. `checkRange` checks how they go together. */
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

export const rangeAnswer = {
  range: z.string(),
  from: z
    .string()
    .optional()
    .describe("Extension: the first day when the request has `from` and `to`; `range` is then `custom`"),
  to: z.string().optional(),
};

/** The member of an answer that needs visits or events. */
export const coverageAnswer = z
  .object({ from: z.string().nullable(), to: z.string().nullable() })
  .optional()
  .describe("Extension: the first and last asked day with visits, hours and events, where not all days have them");

interface RangeQuery {
  range?: Range | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

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

export type AskedRange = { range: Range } | { range: "custom"; from: string; to: string };

export type ResolvedRange = { asked: AskedRange } & Days;

/** The UTC days of a checked query; `now` is in the last day of a range. */
export function resolveRange({ range = defaultRange, from, to }: RangeQuery, now: Date): ResolvedRange {
  if (from !== undefined && to !== undefined) return { asked: { range: "custom", from, to }, first: from, last: to };
  const last = toDay(now.getTime());
  return { asked: { range }, first: addDays(last, 1 - rangeDays[range]), last };
}

/** As many days, ending on the day before the first. */
export function previousDays(days: Days): Days {
  return { first: addDays(days.first, -countDays(days)), last: addDays(days.first, -1) };
}

/** As many days from the same date a year before; 29 February becomes the 28th. */
export function daysOfLastYear(days: Days): Days {
  const year = String(Number(days.first.slice(0, 4)) - 1).padStart(4, "0");
  const date = days.first.endsWith("02-29") ? "02-28" : days.first.slice(5);
  const first = `${year}-${date}`;
  return { first, last: addDays(first, countDays(days) - 1) };
}

export function listDays(days: Days): string[] {
  return Array.from({ length: countDays(days) }, (_, index) => addDays(days.first, index));
}

/** The hours (`2026-03-15T04`) of a UTC day that begin before a moment, one at least. */
export function listHours(day: string, until: Date): string[] {
  const count = Math.ceil((until.getTime() - Date.parse(day)) / hourMs);
  const length = Math.min(24, Math.max(1, count));
  return Array.from({ length }, (_, hour) => `${day}T${String(hour).padStart(2, "0")}`);
}

export function countAskedDays({ range = defaultRange, from, to }: RangeQuery): number {
  return from !== undefined && to !== undefined ? countDays({ first: from, last: to }) : rangeDays[range];
}

function countDays({ first, last }: Days): number {
  return (Date.parse(last) - Date.parse(first)) / dayMs + 1;
}

export function addDays(from: string, count: number): string {
  return toDay(Date.parse(from) + count * dayMs);
}

export function toDay(millis: number): string {
  return new Date(millis).toISOString().slice(0, 10);
}

/** Ids may be some seconds ahead of their events' times, or behind, where a clock was adjusted. */
const clockMs = 60_000;

/** Parameters of a statement over a UTC day's events: a range of ids that holds them all, and the day itself, its end excluded. */
type EventSpan = readonly [firstId: string, endId: string, start: Date, end: Date];

export function eventSpan(day: string): EventSpan {
  const start = Date.parse(day);
  const end = start + dayMs;
  return [uuidV7Floor(start - clockMs), uuidV7Floor(end + clockMs), new Date(start), new Date(end)];
}

/** SQLSTATE `query_canceled`: the pool's statement timeout (Postgres documentation, appendix A). */
const timeoutCode = "57014";

/**
 * Waits for a read of the asked days. When the client chose the days and they hold too much for the statement timeout, the
 * answer is a 400: a 503 would invite the client to try the same again.
 * @throws AppError 400 for days of the client's choice, otherwise the read's own error
 */
export async function readInTime<Result>(asked: AskedRange, reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    const isTimeout = error instanceof Error && "code" in error && error.code === timeoutCode;
    if (!isTimeout || asked.range !== "custom") throw error;
    throw validationError({ to: "These days could not be added up in time; ask for fewer" }, error);
  }
}

const limitMessage = "Must be a whole number from 1 to 1000";

/** A parameter of names, separated by commas, as names in the answer's order, each once. */
function namesParameter<Name extends string>(
  names: readonly Name[],
  { of, examples, description }: { of: string; examples: Name[][]; description: string },
) {
  const message = `Must be names of ${of}, separated by commas: ${names.join(", ")}`;
  return asParameter(
    { type: "array", items: { enum: [...names] }, minItems: 1, examples },
    z
      .string(message)
      .refine((text) => text.split(",").every((name) => (names as readonly string[]).includes(name)), message)
      .transform((text) => names.filter((name) => text.split(",").includes(name)))
      .default([])
      .describe(description),
  );
}

export const listsParameter = namesParameter(listNames, {
  of: "lists",
  examples: [["browsers", "entryPages"]],
  description: `Extension: further lists, separated by commas: ${furtherNames.join(", ")}. With \`Accept: text/csv\` exactly one list, also from ${contractNames.join(", ")}`,
});

export const metricsParameter = namesParameter(askedNames, {
  of: "metrics",
  examples: [["visits", "bounceRate"]],
  description:
    "Extension: figures of visits, separated by commas, in the totals, `series`, `previous` and the rows of every list. Rates are 0 to 1, durations mean seconds. `timeOnPage` (mean seconds in sight of a page view) and `scrollDepth` (percent of the page that visitors saw, on average) come in the totals, `previous` and `topPages`; they are null without a report, and allow filters of `page` with `is` or `contains` alone",
});

/** `?limit=` as a number; a repeated parameter is an array and is refused. */
export const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: 1_000, default: 10 },
  z
    .string()
    .regex(/^\d{1,4}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 1_000, limitMessage)
    .default(10)
    .describe("Rows of each top list, 1 to 1000"),
);

const onceMessage = "Must be given once, filters separated by ;";

export const filtersParameter = asParameter(
  { type: "string", examples: ["country:is:DE|FR;page:contains:/docs"] },
  z
    .string(onceMessage)
    .transform((text, context): Filter[] => {
      try {
        return parseFilters(text);
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        context.addIssue({ code: "custom", message: error.message });
        return z.NEVER;
      }
    })
    .default([])
    .describe(
      `Extension: answers of the visits that match alone: \`dimension:operator:value|value\`, several filters joined by \`;\`. Dimensions: ${filterDimensions.join(", ")}, prop.NAME. Operators: ${operators.join(", ")}. A backslash stands before each \`|\`, \`;\`, \`:\` and \`\\\` of a value. At most ${filterBounds.filters} filters of ${filterBounds.values} values`,
    ),
);

export const rangeQuery = z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange);
