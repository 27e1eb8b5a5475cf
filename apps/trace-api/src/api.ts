import type { ApiDescription, Route } from "@waymark/service/http";
import { commonAnswers } from "./answers.js";

const description = `
This API records the work of AI agents. A trace is one task of an agent, and its spans are the steps. Requests are plain JSON; no SDK is needed.
After a 201 the data is committed to the database.

OpenTelemetry exporters send to \`POST /v1/traces\` with the same keys.

Every request below \`/api/v1\` carries \`Authorization: Bearer <API_KEY>\`. Bodies are \`application/json\` in UTF-8.
The API returns metadata, inputs and outputs exactly as it received them. Every answer has an \`X-Request-Id\`; name it in problem reports.

The operations of the contract (\`POST\`, \`PATCH\` and \`GET\` of a trace, \`POST\` of a span) ignore unknown query parameters. All
others, and a request with \`include\`, refuse them with 400.

Every error is JSON with an \`error\` string. Each call lists its own errors. Any call may also answer:

404 for an unknown path, 405 with \`Allow\` for a wrong method, 413 for a body over the limit, 415 for another content type,
429 with \`Retry-After\` for an account with too much in progress (\`reason\` names the limit) or a key with too many requests a
second (\`limit\`, per instance), 500 for a fault of the service, and 503 with \`Retry-After\` while the database is down or all
clients together send more than it takes in. 429, 500 and 503 are safe to retry.

A POST without an answer is only safe to repeat with an \`Idempotency-Key\`: the same key with the same request gets the same
answer and stores nothing twice.
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
