import { type DocumentedAnswer, errorSchema, validationErrorSchema } from "@waymark/service/http";
import { z } from "zod";

/** The answers to an event, for the API's description. */
export const eventAnswers: Readonly<Record<number, DocumentedAnswer>> = {
  202: {
    description: "The event is committed, or dropped for the reason in the header",
    schema: z.literal("ok"),
    example: "ok",
    contentType: "text/plain",
    headers: ["X-Waymark-Dropped"],
  },
  400: {
    description: "Fields are missing or malformed; `fields` has a message for each, with `body` for the whole body",
    schema: validationErrorSchema(),
    example: { error: "Validation failed", fields: { url: "Must be an http or https URL" } },
  },
  413: {
    description: "The body is over 64 KiB",
    schema: errorSchema({ limit_bytes: z.number() }),
    example: { error: "Body too large", limit_bytes: 65_536 },
  },
  429: {
    description: "The address or the site has had its events of this second, or too many of its bytes are in hand",
    schema: errorSchema({
      limit: z.number().optional(),
      retry_after: z.number().optional(),
      reason: z.string().optional(),
    }),
    example: {
      error: "Rate limit exceeded",
      limit: 50,
      retry_after: 1,
      reason: "An address may send 50 events a second; bodies count once for each 4 KiB",
    },
    headers: ["Retry-After"],
  },
  503: {
    description: "The database is unreachable, or too many events wait, as `reason` then says",
    schema: errorSchema({ reason: z.string().optional() }),
    example: { error: "Service temporarily unavailable" },
    headers: ["Retry-After"],
  },
};
