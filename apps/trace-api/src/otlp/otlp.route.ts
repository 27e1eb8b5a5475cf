import { validationError } from "@waymark/errors";
import { route } from "@waymark/service/http";
import {
  loadOtlpMessages,
  type MappedRequest,
  mapRequest,
  type PartialSuccess,
  writeSuccess,
} from "@waymark/traces/otlp";
import { traceFull } from "../spans/trace-capacity.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import {
  agentLimitError,
  byteHeaders,
  byteLimitError,
  quotaHeaders,
  senderOf,
  type TraceQuota,
  traceLimitError,
} from "../usage/trace-quota.js";
import { answersOf, bodyOf, failure, readOtlp, sendOtlpError } from "./otlp-http.js";
import { contextProblem, spanRefusals } from "./span-refusals.js";
import type { StoreSpans, StoreSpansResult } from "./store-spans.js";

interface OtlpDeps {
  storeSpans: StoreSpans;
  reserve: Pick<ByteReserve, "ahead">;
  now(): Date;
}

const requestExample = {
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              traceId: "5b8efff798038103d269b633813fc60c",
              spanId: "eee19b7ec3c1b174",
              name: "invoke_agent billing-agent",
              startTimeUnixNano: "1769860800000000000",
              endTimeUnixNano: "1769860804250000000",
              attributes: [{ key: "gen_ai.agent.name", value: { stringValue: "billing-agent" } }],
            },
          ],
        },
      ],
    },
  ],
};

/**
 * `POST /v1/traces`: stores spans of OpenTelemetry exporters, sent as OTLP over HTTP in protobuf or JSON (OTLP 1.x). It
 * lies outside `/api/v1`, since exporters append this path to the address of the service.
 */
export function otlpRoute(deps: OtlpDeps) {
  const messages = loadOtlpMessages("traces");
  return route({
    method: "post",
    scope: "ingest",
    basePath: "",
    path: "/v1/traces",
    operationId: "exportTraces",
    summary: "Store spans of an OpenTelemetry exporter (OTLP over HTTP)",
    description:
      "Takes an `ExportTraceServiceRequest` in protobuf or JSON, also in gzip, and answers in the same encoding. Spans with the same OpenTelemetry trace id become one trace, across requests and in any order. The root span sets the agent, name, status and end of the trace. A failed root span sends a mail. Repeated spans change nothing; spans of a deleted trace are dropped. Errors are `google.rpc.Status`.",
    lenientQuery: [],
    body: bodyOf("resourceSpans", requestExample),
    answers,
    sendError: sendOtlpError,
    async handle({ body, response }) {
      const mapped = await readOtlp(messages, body, mapRequest);
      const sender = senderOf(response, deps.now());
      const stored = await deps.storeSpans(sender, mapped.spans);
      const quota = { ...sender, used: stored.used ?? 0 };
      const partial = partialSuccessOf(mapped, stored, quota);
      return {
        status: 200,
        headers: {
          ...(stored.used !== undefined && quotaHeaders(quota)),
          ...byteHeaders(quota, stored, deps.reserve.ahead(sender.accountId)),
        },
        contentType: body.mediaType,
        body: writeSuccess(messages, body.mediaType, partial),
      };
    },
  });
}

/** Undefined if none was refused. @throws AppError where none was stored: 400 if all are invalid, or the limit's */
function partialSuccessOf(
  { spans, refused: unfit }: MappedRequest,
  { refused, usedBytes = 0 }: StoreSpansResult,
  quota: TraceQuota,
): PartialSuccess | undefined {
  const reasons = [...unfit].map(([problem, count]) => `${count} invalid: ${problem}`);
  const invalid = [...unfit.values()].reduce((sum, count) => sum + count, 0);
  if (invalid > 0 && spans.length === 0) {
    throw validationError({ body: `No span is valid: ${[...unfit.keys()].join("; ")}` });
  }
  const { count, reasons: over } = spanRefusals({ refused }, quota);
  if (count > 0 && count === spans.length) {
    if (refused.context_limit === count) throw validationError({ body: `No span is valid: ${contextProblem}` });
    if (refused.span_limit === count) throw traceFull();
    if (refused.trace_limit > 0) throw traceLimitError(quota);
    if (refused.byte_limit > 0) throw byteLimitError(quota, usedBytes);
    if (refused.agent_limit > 0) throw agentLimitError(quota);
  }
  reasons.unshift(...over);
  if (reasons.length === 0) return undefined;
  const errorMessage = `Spans were refused: ${reasons.join("; ")}`;
  return { rejected: count + invalid, errorMessage };
}

const answers = {
  ...answersOf("traces", "span", {
    200: "The spans are committed. Where limits refused some, `partialSuccess` has their number and names the limits",
    400: "The body cannot be read, or no span is valid and within the bounds of resource, scope and attributes",
  }),
  403: failure(
    "All spans are of further agents than the plan allows, or the key's scope is `read`",
    {
      code: 7,
      error: "Free plan limited to 1 agent",
    },
    ["WWW-Authenticate"],
  ),
  413: failure("The inflated body is over the limit, or all spans are of traces that have 100,000 spans already", {
    code: 3,
    error: "Body too large",
  }),
  429: failure(
    "All spans are of new traces, and the month's traces are used up, or its bytes are (`reason` is `stored_bytes`)",
    { code: 8, error: "Monthly trace limit reached. Upgrade to Pro." },
    ["Retry-After"],
  ),
};
