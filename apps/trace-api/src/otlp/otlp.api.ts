import type { OpenApiOperation } from "@waymark/http";

/** Where OTLP exporters send traces (OTLP specification, "OTLP/HTTP Request"): outside `/api/v1`, since they append it. */
export const otlpPath = "/v1/traces";

const span = {
  traceId: "5b8efff798038103d269b633813fc60c",
  spanId: "eee19b7ec3c1b174",
  name: "invoke_agent billing-agent",
  startTimeUnixNano: "1769860800000000000",
  endTimeUnixNano: "1769860804250000000",
  attributes: [{ key: "gen_ai.agent.name", value: { stringValue: "billing-agent" } }],
};

const binary = { schema: { type: "string", format: "binary" } };

const statusSchema = {
  type: "object",
  required: ["code", "message", "error"],
  properties: { code: { type: "integer" }, message: { type: "string" }, error: { type: "string" } },
};

function failure(description: string, code: number, error: string, message = error, headers: readonly string[] = []) {
  const names = headers.map((name) => [name, { schema: { type: "integer" } }]);
  return {
    description,
    ...(headers.length > 0 && { headers: Object.fromEntries(names) }),
    content: {
      "application/json": { schema: statusSchema, example: { code, message, error } },
      "application/x-protobuf": binary,
    },
  };
}

/** `POST /v1/traces` as the description of the API has it. */
export const otlpOperation: OpenApiOperation = {
  operationId: "exportTraces",
  summary: "Take spans from an OpenTelemetry exporter (OTLP over HTTP)",
  description:
    "An `ExportTraceServiceRequest` in protobuf or JSON, also in gzip; the answer has the request's form. Spans with one OpenTelemetry trace id become one trace, however they are split over requests and in whatever order they come. The root span decides its agent, name, status and end, and owes a mail if it failed. Spans that come again change nothing; those of a deleted trace are dropped. Errors are `google.rpc.Status`.",
  parameters: [],
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: { type: "object", properties: { resourceSpans: { type: "array", items: { type: "object" } } } },
        example: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
      },
      "application/x-protobuf": binary,
    },
  },
  responses: {
    200: {
      description:
        "What was sent is committed; `partialSuccess` says how many spans were refused, if any, and which limit did it",
      content: {
        "application/json": {
          schema: {
            type: "object",
            properties: {
              partialSuccess: {
                type: "object",
                properties: { rejectedSpans: { type: "string" }, errorMessage: { type: "string" } },
              },
            },
          },
          example: {},
        },
        "application/x-protobuf": binary,
      },
    },
    400: failure(
      "The body cannot be read, or none of its spans is valid and within the bounds of resource, scope and attributes",
      3,
      "Validation failed",
      "The body is not an ExportTraceServiceRequest in protobuf",
    ),
    401: failure("The key is missing, malformed, unknown or revoked", 16, "Invalid API key"),
    403: failure("All spans are of further agents than the plan allows", 7, "Free plan limited to 1 agent"),
    413: failure(
      "The body is over the limit, inflated, or all spans are of traces that have 100,000 already",
      3,
      "Body too large",
    ),
    415: failure("The content type is neither, or the encoding is unknown", 3, "Unsupported content type"),
    429: failure(
      "All spans are of new traces, and the month's are used up",
      8,
      "Monthly trace limit reached. Upgrade to Pro.",
      undefined,
      ["Retry-After"],
    ),
    503: failure(
      "The database cannot be reached, or more is sent than it takes in",
      14,
      "Service temporarily unavailable",
      undefined,
      ["Retry-After"],
    ),
  },
};
