import type { ApiDescription, Route } from "@waymark/http";
import { commonAnswers } from "./answers.js";

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
    commonAnswers,
    routes,
  };
}
