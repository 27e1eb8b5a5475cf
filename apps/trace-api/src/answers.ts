import { type KeyScope, scopeProblem, sufficientScopes } from "@waymark/auth";
import {
  type ApiDescription,
  type DocumentedAnswer,
  errorSchema,
  type Route,
  validationErrorSchema,
} from "@waymark/service/http";
import { z } from "zod";

const description = `
This API records the work of AI agents. A trace is one task of an agent, and its spans are the steps. Requests are plain JSON; no SDK is needed.
After a 201 the data is committed to the database.

OpenTelemetry exporters send to \`POST /v1/traces\` and \`POST /v1/logs\` with the same keys.

Every request below \`/api/v1\` carries \`Authorization: Bearer <API_KEY>\`. Bodies are \`application/json\` in UTF-8.
The API returns metadata, inputs and outputs exactly as it received them. Every answer has an \`X-Request-Id\`; name it in problem reports.

The operations of the contract (\`POST\`, \`PATCH\` and \`GET\` of a trace, \`POST\` of a span) ignore unknown query parameters. All
others, and a request with \`include\`, refuse them with 400.

A key has a scope: \`ingest\` sends, \`read\` reads, and \`all\` also deletes. Each call needs a key of its own scope or of
\`all\`. Give \`ingest\` to agents and browsers: who finds such a key can read and delete nothing.

Every error is JSON with an \`error\` string. Each call lists its own errors. Any call may also answer:

404 for an unknown path, 405 with \`Allow\` for a wrong method, 413 for a body over the limit, 415 for another content type,
429 with \`Retry-After\` for an account with too much in progress (\`reason\` names the limit) or a key with too many requests a
second (\`limit\`, per instance), 500 for a fault of the service, and 503 with \`Retry-After\` while the database is down or all
clients together send more than it takes in. 429, 500 and 503 are safe to retry.

A POST without an answer is only safe to repeat with an \`Idempotency-Key\`: the same key with the same request gets the same
answer and stores nothing twice.
`;

/** A route of this API, with what its key must be for. */
export type ScopedRoute = Route & { readonly scope: KeyScope };

export function describeTraceApi(routes: readonly ScopedRoute[]): ApiDescription<ScopedRoute> {
  return {
    title: "Waymark trace API",
    version: "1",
    description,
    basePath: "/api/v1",
    keyForm: "wmk_trace_…",
    commonAnswers,
    routes,
  };
}

/** The answers to a route's input. A route lists its own answers beside these, or in place of one. */
function commonAnswers({
  scope,
  body,
  query,
  params,
  takesIdempotencyKey,
}: ScopedRoute): Record<number, DocumentedAnswer> {
  return {
    400: body ? validationFailed : query ? invalidQuery : unknownParameter,
    401: invalidKey,
    403: wrongScope(scope),
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

function refusal(description: string, error: string, headers?: readonly string[]): DocumentedAnswer {
  return { description, schema: errorSchema(), example: { error }, ...(headers && { headers }) };
}

const invalidKey: DocumentedAnswer = {
  description: "The key is missing, malformed, unknown or revoked",
  schema: errorSchema({ hint: z.string(), docs: z.string() }),
  example: { error: "Invalid API key", hint: 'Send the header "Authorization: Bearer wmk_trace_…"', docs: "/docs" },
  headers: ["WWW-Authenticate"],
};

function wrongScope(needed: KeyScope): DocumentedAnswer {
  const scopes = sufficientScopes(needed).map((scope) => `\`${scope}\``);
  const example = scopeProblem(needed === "ingest" ? "read" : "ingest", needed) ?? "";
  return refusal(`The key's scope is not ${scopes.join(" or ")}`, example, ["WWW-Authenticate"]);
}

export const sessionNotFound = refusal(
  "The account has no trace of this conversation, or none after the cursor",
  "Session not found",
);

export const agentNotFound = refusal("The agent does not exist, or belongs to another account", "Agent not found");

const traceNotFound = refusal("The trace does not exist, or belongs to another account", "Trace not found");

export const spanNotFound = refusal(
  "The trace does not exist (`Trace not found`), or has no such span",
  "Span not found",
);

/** The header of a repeated answer; see {@link replayed}. */
export const replayHeaders = ["Idempotent-Replayed"] as const;

/** Marks the answer to a request with a known `Idempotency-Key`. */
export function replayed({ outcome }: { outcome: string }): Readonly<Record<string, string>> {
  return outcome === "replayed" ? { "Idempotent-Replayed": "true" } : {};
}

const requestInProgress = refusal(
  "The first request with this `Idempotency-Key` has no answer yet",
  "A request with this idempotency key is in progress",
  ["Retry-After"],
);

const idempotencyKeyReused = refusal(
  "Another request, with another path or body, used this `Idempotency-Key`",
  "Idempotency key was used for another request",
);
