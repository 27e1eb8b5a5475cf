import { asParameter, parseTimestamp } from "@waymark/fields";
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

/** `?from=` (included) and `?to=` (excluded): a range of `started_at`. */
export const rangeParameters = {
  from: timestampParameter("Only traces that started at this time or later"),
  to: timestampParameter("Only traces that started before this time"),
};

/** Refuses a range without content. Both times come from `parseTimestamp`, whose output sorts as text. */
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
