import { parseTimestamp } from "@waymark/fields";
import { asParameter } from "@waymark/http";
import { z } from "zod";

const maxLimit = 200;
const defaultLimit = 50;
const limitMessage = `Must be a whole number from 1 to ${maxLimit}`;

/** `?limit=` as a whole number in digits; a repeated parameter is an array and no text. */
export const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit },
  z
    .string(limitMessage)
    .regex(/^\d{1,3}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, limitMessage)
    .default(defaultLimit)
    .describe(`Entries of a page at most, 1 to ${maxLimit}`),
);

/**
 * `?cursor=`: where the page before ended. It is a place in the order and nothing else, so that it holds under other
 * filters too.
 * @param read makes a place of its text, or gives undefined where it is none
 */
export function cursorParameter<Place>(read: (text: string) => Place | undefined) {
  return z
    .string(cursorMessage)
    .transform((cursor, context) => {
      const text = Buffer.from(cursor, "base64url").toString("utf8");
      // Base64 leaves out what it does not know: only what we would have written ourselves is a cursor.
      const place = encodeCursor(text) === cursor ? read(text) : undefined;
      if (place !== undefined) return place;
      context.addIssue({ code: "custom", message: cursorMessage });
      return z.NEVER;
    })
    .optional()
    .meta({ description: "`next_cursor` of the page before" });
}

const cursorMessage = "Must be the next_cursor of an earlier answer";

/** The cursor of a place. */
export function encodeCursor(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

/** `?from=` and `?to=`: a range of `started_at`. */
export const rangeParameters = {
  from: timestampParameter("Only what started at this time or later"),
  to: timestampParameter("Only what started before this time"),
};

/** Refuses a range that nothing can lie in. Both are in the form of `parseTimestamp`, which sorts as text. */
export function checkRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  context: z.RefinementCtx,
) {
  if (from === undefined || to === undefined || from < to) return;
  context.addIssue({ code: "custom", path: ["to"], message: "Must be after from" });
}

function timestampParameter(description: string) {
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
