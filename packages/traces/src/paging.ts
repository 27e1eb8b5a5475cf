import { isUuid } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { asParameter, parseTimestamp, wordsParameter } from "@waymark/service/fields";
import { z } from "zod";

const maxLimit = 200;
const defaultLimit = 50;
const limitMessage = `Must be a whole number from 1 to ${maxLimit}`;

export const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit },
  z
    .string(limitMessage)
    .regex(/^\d{1,3}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, limitMessage)
    .default(defaultLimit)
    .describe(`The maximum number of entries on a page, 1 to ${maxLimit}`),
);

const cursorMessage = "Must be the next_cursor of an earlier answer";

/** `?cursor=`. It holds no filters, so it stays valid when they change. `read` returns undefined for malformed text. */
export function cursorParameter<Cursor>(read: (text: string) => Cursor | undefined) {
  return z
    .string(cursorMessage)
    .transform((encoded, context) => {
      const text = Buffer.from(encoded, "base64url").toString("utf8");
      // Base64 decoding skips unknown characters: only our own spelling of a cursor counts.
      const cursor = encodeCursor(text) === encoded ? read(text) : undefined;
      if (cursor !== undefined) return cursor;
      context.addIssue({ code: "custom", message: cursorMessage });
      return z.NEVER;
    })
    .optional()
    .meta({ description: "`next_cursor` of the previous page" });
}

export function encodeCursor(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

/** The rows of a page, of which one more was read, and its `next_cursor` by the text of the last one. */
export function pageOf<Row>(rows: readonly Row[], limit: number, textOf: (last: Row) => string) {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { page, next_cursor: last === undefined ? null : encodeCursor(textOf(last)) };
}

/** A time and an id after it, with what follows. */
export function readTimeAndId(text: string): { time: string; id: string; rest: string[] } | undefined {
  const [given = "", id = "", ...rest] = text.split(" ");
  const time = parseTimestamp(given);
  return time.ok && isUuid(id) ? { time: time.value, id, rest } : undefined;
}

/** `?include=`: parts that an answer has where asked for. */
export function includeParameter<Name extends string>(parts: Readonly<Record<Name, { readonly adds: string }>>) {
  const described = Object.entries<{ adds: string }>(parts).map(([name, { adds }]) => `\`${name}\` adds ${adds}`);
  return wordsParameter(Object.keys(parts) as Name[]).describe(
    `One part or several, separated by commas: ${described.join(", ")}`,
  );
}

/** `?from=` (included) and `?to=` (excluded): a range of `started_at`. */
export const rangeParameters = {
  from: timestampParameter("Only traces that started at this time or later"),
  to: timestampParameter("Only traces that started before this time"),
};

const defaultDays = 30;

/** A range of things to count, and what it begins with if not told. */
export const countedRange = (what: string, usualStart = `${defaultDays} days before \`to\` if omitted`) => ({
  from: timestampParameter(`Counts ${what} that started at this time or later; ${usualStart}`),
  to: timestampParameter(`Counts ${what} that started before this time; now if omitted`),
});

/** Refuses a range without content. Both times come from `parseTimestamp`, whose output sorts as text. */
export function checkRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  context: z.RefinementCtx,
) {
  if (from === undefined || to === undefined || from < to) return;
  context.addIssue({ code: "custom", path: ["to"], message: "Must be after from" });
}

/** The first millisecond that a timestamp of the contract can name. */
const earliestMs = Date.parse("0001-01-01T00:00:00Z");

interface Range {
  from: string;
  to: string;
}

/** Without `to` up to now, without `from` as many days before. @throws AppError 400 if `from` is not before now */
export function recentRange(
  asked: { [Name in keyof Range]?: string | undefined },
  now: Date,
  days = defaultDays,
): Range {
  const to = asked.to ?? now.toISOString();
  const from = asked.from ?? new Date(Math.max(earliestMs, Date.parse(to) - days * 86_400_000)).toISOString();
  if (asked.to === undefined && from >= to)
    throw validationError({ from: "Must be before now, where to is not given" });
  return { from: withoutZeros(from), to: withoutZeros(to) };
}

/** A timestamp as answers show it: milliseconds, and microseconds if there are any. */
function withoutZeros(time: string): string {
  return time.replace(/(\.\d{3})000Z$/, "$1Z");
}

export function timestampParameter(description: string) {
  return z
    .string("Must be given once")
    .transform((text, context) => {
      const result = parseTimestamp(text);
      if (result.ok) return result.value;
      context.addIssue({ code: "custom", message: result.problem });
      return z.NEVER;
    })
    .optional()
    .meta({ format: "date-time", description });
}

/** @throws AppError 400 on `from` if more of a range was read than an answer takes */
export function refuseLarge({ from, to }: Range, examined: number, most = maxCountedTraces, what = "traces started") {
  if (examined <= most) return;
  throw validationError({
    from: `Must be later: more than ${most.toLocaleString("en")} ${what} from ${from} up to ${to}`,
  });
}

/** An account within its plan never exceeds it: the 90 days of Pro touch five months of 50,000 traces. */
export const maxCountedTraces = 250_000;
