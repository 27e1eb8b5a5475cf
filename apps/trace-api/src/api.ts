import {
  type ApiDescription,
  type DocumentedAnswer,
  errorSchema,
  type Route,
  validationErrorSchema,
} from "@waymark/http";
import { upgradePath } from "@waymark/plan";
import { z } from "zod";
import { otlpOperation, otlpPath } from "./otlp/otlp.api.js";
import { maxSpansPerTrace } from "./spans/trace-room.js";
import { quotaHeaderNames } from "./usage/trace-quota.js";

const description = `
Records what AI agents did: a trace is one run, its spans are the steps. Plain JSON from any language; no client library is needed.
A 201 means that what was sent is committed to the database.

Exporters of OpenTelemetry send to \`POST /v1/traces\`, with the same keys.

The operations of the contract (\`POST\`, \`PATCH\` and \`GET\` of a trace, \`POST\` of a span) ignore query parameters that they do not
have; all others, and a request with \`include\`, refuse them with 400.

Every request below \`/api/v1\` carries \`Authorization: Bearer <API_KEY>\`. Bodies are \`application/json\` in UTF-8.
Metadata, inputs and outputs are kept and given back exactly as they came. Every answer has an \`X-Request-Id\`; name it when you report a problem.

Every error is JSON with an \`error\` string. Beside those listed with each call: 404 for an unknown path, 405 with \`Allow\`,
413 for a body over the limit, 415 for another content type, 500 for a fault of ours and 503 with \`Retry-After\` while the
database cannot be reached or all clients together send more than it takes in. 429 with \`Retry-After\` is also the answer
to an account that has too much in progress (\`reason\` names the limit) and to a key that sends more requests a second than
it may (\`limit\`, counted by each instance). 429, 500 and 503 are safe to retry.

Where no answer came, only an \`Idempotency-Key\` makes it safe to send a POST again: the same key with the same request gets
the same answer and stores nothing twice.
`;

/** The description of the trace service for `/openapi.json` and `/docs`. */
export function describeTraceApi(routes: readonly Route[]): ApiDescription {
  return {
    title: "Waymark trace API",
    version: "1",
    description,
    basePath: "/api/v1",
    keyForm: "wmk_trace_…",
    routes,
    further: { [otlpPath]: { post: otlpOperation } },
  };
}

/** The answers that several routes share. */
export const validationFailed: DocumentedAnswer = {
  description: "Fields are missing or malformed; `fields` has a message for each, `body` stands for the whole body",
  schema: validationErrorSchema(),
  example: { error: "Validation failed", fields: { started_at: "Required" } },
};

export const invalidQuery: DocumentedAnswer = {
  description: "A query parameter is not one of those allowed; `fields` has a message for each",
  schema: validationErrorSchema(),
  example: { error: "Validation failed", fields: { limit: "Must be a whole number from 1 to 200" } },
};

/** Of operations that have no query parameters. */
export const unknownParameter: DocumentedAnswer = {
  ...invalidQuery,
  description: "There are no query parameters",
  example: { error: "Validation failed", fields: { month: "Unknown parameter; there are none here" } },
};

export const invalidKey: DocumentedAnswer = {
  description: "The key is missing, malformed, unknown or revoked",
  schema: errorSchema(),
  example: { error: "Invalid API key" },
  headers: ["WWW-Authenticate"],
};

export const traceNotFound: DocumentedAnswer = {
  description: "There is no such trace, or it belongs to another account",
  schema: errorSchema(),
  example: { error: "Trace not found" },
};

export const spanNotFound: DocumentedAnswer = {
  description: "There is no such trace (`Trace not found`), or it has no such span",
  schema: errorSchema(),
  example: { error: "Span not found" },
};

export const traceHasNoRoom: DocumentedAnswer = {
  description: `The trace has ${maxSpansPerTrace.toLocaleString("en")} spans, or would have more with these; or the body is too large`,
  schema: errorSchema({ limit: z.number() }),
  example: { error: "Trace has too many spans", limit: maxSpansPerTrace },
};

/** The header of an answer that was given before; see {@link replayed}. */
export const replayHeaders = ["Idempotent-Replayed"] as const;

/** Marks the answer of a request that its `Idempotency-Key` told to be a repeated one. */
export function replayed({ outcome }: { outcome: string }): Readonly<Record<string, string>> {
  return outcome === "replayed" ? { "Idempotent-Replayed": "true" } : {};
}

export const requestInProgress: DocumentedAnswer = {
  description: "The first request with this `Idempotency-Key` has no answer yet",
  schema: errorSchema(),
  example: { error: "A request with this idempotency key is in progress" },
  headers: ["Retry-After"],
};

export const idempotencyKeyReused: DocumentedAnswer = {
  description: "The `Idempotency-Key` was used for a request with another path or body",
  schema: errorSchema(),
  example: { error: "Idempotency key was used for another request" },
};

export const agentLimitReached: DocumentedAnswer = {
  description: "A Free account has its one agent, and this trace names another",
  schema: errorSchema({ upgrade_url: z.string() }),
  example: { error: "Free plan limited to 1 agent", upgrade_url: upgradePath },
  headers: quotaHeaderNames,
};

export const traceLimitReached: DocumentedAnswer = {
  description: "The month's traces are used up",
  schema: errorSchema({ limit: z.number(), current: z.number(), upgrade_url: z.string() }),
  example: {
    error: "Monthly trace limit reached. Upgrade to Pro.",
    limit: 1000,
    current: 1000,
    upgrade_url: upgradePath,
  },
  headers: [...quotaHeaderNames, "Retry-After"],
};
