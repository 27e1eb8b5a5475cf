import { upgradePath } from "@waymark/plan";
import { type DocumentedAnswer, errorSchema, type Route, validationErrorSchema } from "@waymark/service/http";
import { z } from "zod";
import { maxSpansPerTrace } from "./spans/trace-capacity.js";
import { byteHeaderNames, quotaHeaderNames } from "./usage/trace-quota.js";

/** The answers to a route's input. A route lists its own answers beside these, or in place of one. */
export function commonAnswers({ body, query, params, takesIdempotencyKey }: Route): Record<number, DocumentedAnswer> {
  return {
    400: body ? validationFailed : query ? invalidQuery : unknownParameter,
    401: invalidKey,
    ...(params?.["trace_id"] !== undefined && { 404: traceNotFound }),
    ...(takesIdempotencyKey && { 409: requestInProgress, 422: idempotencyKeyReused }),
  };
}

export const validationFailed: DocumentedAnswer = {
  description: "A field is missing or malformed. `fields` has a message for each; `body` means the whole body",
  schema: validationErrorSchema(),
  example: { error: "Validation failed", fields: { started_at: "Required" } },
};

export const invalidQuery: DocumentedAnswer = {
  description: "A query parameter is unknown or malformed. `fields` has a message for each",
  schema: validationErrorSchema(),
  example: { error: "Validation failed", fields: { limit: "Must be a whole number from 1 to 200" } },
};

const unknownParameter: DocumentedAnswer = {
  ...invalidQuery,
  description: "The request has a query parameter; this operation has none",
  example: { error: "Validation failed", fields: { month: "Unknown parameter; there are none here" } },
};

const invalidKey: DocumentedAnswer = {
  description: "The key is missing, malformed, unknown or revoked",
  schema: errorSchema(),
  example: { error: "Invalid API key" },
  headers: ["WWW-Authenticate"],
};

export const agentNotFound: DocumentedAnswer = {
  description: "The agent does not exist, or belongs to another account",
  schema: errorSchema(),
  example: { error: "Agent not found" },
};

const traceNotFound: DocumentedAnswer = {
  description: "The trace does not exist, or belongs to another account",
  schema: errorSchema(),
  example: { error: "Trace not found" },
};

export const spanNotFound: DocumentedAnswer = {
  description: "The trace does not exist (`Trace not found`), or has no such span",
  schema: errorSchema(),
  example: { error: "Span not found" },
};

export const traceIsFull: DocumentedAnswer = {
  description: `The trace would have more than ${maxSpansPerTrace.toLocaleString("en")} spans, or the body is too large`,
  schema: errorSchema({ limit: z.number() }),
  example: { error: "Trace has too many spans", limit: maxSpansPerTrace },
};

/** The header of a repeated answer; see {@link replayed}. */
export const replayHeaders = ["Idempotent-Replayed"] as const;

/** Marks the answer to a request with a known `Idempotency-Key`. */
export function replayed({ outcome }: { outcome: string }): Readonly<Record<string, string>> {
  return outcome === "replayed" ? { "Idempotent-Replayed": "true" } : {};
}

const requestInProgress: DocumentedAnswer = {
  description: "The first request with this `Idempotency-Key` has no answer yet",
  schema: errorSchema(),
  example: { error: "A request with this idempotency key is in progress" },
  headers: ["Retry-After"],
};

const idempotencyKeyReused: DocumentedAnswer = {
  description: "Another request, with another path or body, used this `Idempotency-Key`",
  schema: errorSchema(),
  example: { error: "Idempotency key was used for another request" },
};

export const agentLimitReached: DocumentedAnswer = {
  description: "A Free account has its one agent, and this trace names another",
  schema: errorSchema({ upgrade_url: z.string() }),
  example: { error: "Free plan limited to 1 agent", upgrade_url: upgradePath },
  headers: quotaHeaderNames,
};

/** The 429 of creating a trace. */
export const monthIsUsedUp: DocumentedAnswer = {
  description: "The month's traces are used up, its bytes (`reason` is `stored_bytes`), or a share of the service",
  schema: errorSchema({
    reason: z.string().optional(),
    limit: z.number().optional(),
    current: z.number().optional(),
    upgrade_url: z.string().optional(),
  }),
  example: {
    error: "Monthly trace limit reached. Upgrade to Pro.",
    limit: 1000,
    current: 1000,
    upgrade_url: upgradePath,
  },
  headers: [...quotaHeaderNames, "Retry-After"],
};

/** The 429 of storing anything else. */
export const bytesAreUsedUp: DocumentedAnswer = {
  description: "The month's bytes (`reason` is `stored_bytes`, and deleting gives none back) or a share are used up",
  schema: errorSchema({
    reason: z.string().optional(),
    limit: z.number().optional(),
    current: z.number().optional(),
    upgrade_url: z.string().optional(),
  }),
  example: {
    error: "Monthly storage limit reached. Upgrade to Pro.",
    reason: "stored_bytes",
    limit: 256_000_000,
    current: 255_999_000,
    upgrade_url: upgradePath,
  },
  headers: [...byteHeaderNames, "Retry-After"],
};
