import { type AppError, validationError } from "@waymark/errors";
import { upgradePath } from "@waymark/plan";
import { findRepeatedMember, hasManyKeys } from "@waymark/service/fields";
import {
  type DocumentedAnswer,
  type EncodedBody,
  inSteps,
  mediaTypeOf,
  parseJsonInSteps,
  readJsonText,
  route,
  sendAnswer,
} from "@waymark/service/http";
import {
  loadOtlpMessages,
  MalformedRequest,
  type MappedRequest,
  mapRequest,
  type OtlpEncoding,
  type OtlpMessages,
  type PartialSuccess,
  quoteNumbers,
  readJson,
  readProtobuf,
  type TraceRequest,
  writeStatus,
  writeSuccess,
} from "@waymark/traces/otlp";
import type { Response } from "express";
import { z } from "zod";
import { maxSpansPerTrace, traceFull } from "../spans/trace-capacity.js";
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
import { maxContextsPerTrace } from "./add-spans.query.js";
import { createSpansStore, type StoreSpansDeps, type StoreSpansResult } from "./store-spans.js";

/** How deeply the JSON of a request may nest: 200 lists in each other take four levels each, and the messages around them 20. */
const maxJsonDepth = 820;

interface OtlpDeps extends StoreSpansDeps {
  reserve: Pick<ByteReserve, "ahead">;
  now(): Date;
}

const binary = { schema: z.unknown().meta({ type: "string", format: "binary" }) };

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
  const messages = loadOtlpMessages();
  const storeSpans = createSpansStore(deps);
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
    body: {
      "application/x-protobuf": binary,
      "application/json": {
        schema: z.looseObject({ resourceSpans: z.array(z.looseObject({})).optional() }),
        example: requestExample,
      },
    },
    answers,
    sendError: sendOtlpError,
    async handle({ body, response }) {
      const mapped = await readSpans(messages, body);
      const sender = senderOf(response, deps.now());
      const stored = await storeSpans(sender, mapped.spans);
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

/** Reads and maps a request. The largest takes some tenths of a second, so small requests run in between. */
async function readSpans(
  messages: OtlpMessages,
  { mediaType, bytes }: EncodedBody<OtlpEncoding>,
): Promise<MappedRequest> {
  try {
    const isProtobuf = mediaType === "application/x-protobuf";
    return await inSteps(mapRequest(isProtobuf ? readProtobuf(messages, bytes) : await readJsonBody(bytes)));
  } catch (error) {
    throw error instanceof MalformedRequest ? validationError({ body: error.message }, error.cause) : error;
  }
}

/** 4 MiB of the shortest attributes have 250,000. Parsing more would hold all other requests for long. */
const maxContainers = 300_000;
/** The names of OpenTelemetry are some fifty. A parser takes ten times as long for names that it has not seen yet. */
const maxKeys = 1_000;
/** Parsing fewer takes short, whatever their names. */
const fewMembers = 50_000;

/** A parser keeps the last of repeated members and rounds numbers beyond 2^53. Where it may have, the text is read again. */
async function readJsonBody(bytes: Buffer): Promise<TraceRequest> {
  const { text, containers, members } = readJsonText(bytes, maxJsonDepth);
  if (containers > maxContainers)
    throw new MalformedRequest(`There must not be more than ${maxContainers} objects and arrays`);
  if (members > fewMembers && (await inSteps(hasManyKeys(text, maxKeys))))
    throw new MalformedRequest(`There must not be more than ${maxKeys} different names of members`);
  const read = await inSteps(readJson(await parseJsonInSteps(text, maxJsonDepth)));
  if (read.members !== members) {
    const key = await inSteps(findRepeatedMember(text));
    if (key !== undefined) throw new MalformedRequest(`${key.slice(0, 100)} must not be given twice in one object`);
  }
  if (read.isExact) return read.request;
  return (await inSteps(readJson(await parseJsonInSteps(quoteNumbers(text), maxJsonDepth)))).request;
}

/**
 * Counts and explains a request's refused spans.
 * @returns undefined if no span was refused
 * @throws AppError where no span was stored: 400 if all are invalid, else the error of the limit that refused them
 */
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
  if (refused.context_limit > 0) {
    const problem = `a trace must not have more than ${maxContextsPerTrace} resources and scopes`;
    if (refused.context_limit === spans.length) throw validationError({ body: `No span is valid: ${problem}` });
    reasons.unshift(`${refused.context_limit} invalid: ${problem}`);
  }
  if (refused.span_limit > 0) {
    if (refused.span_limit === spans.length) throw traceFull();
    reasons.unshift(`${refused.span_limit} of traces that have ${maxSpansPerTrace} spans already`);
  }
  const overPlan = refused.agent_limit + refused.trace_limit + refused.byte_limit;
  if (overPlan > 0 && overPlan === spans.length) {
    if (refused.trace_limit > 0) throw traceLimitError(quota);
    throw refused.byte_limit > 0 ? byteLimitError(quota, usedBytes) : agentLimitError(quota);
  }
  if (refused.agent_limit > 0) {
    reasons.unshift(
      `${refused.agent_limit} of further agents: Free plan limited to 1 agent; upgrade at ${upgradePath}`,
    );
  }
  if (refused.trace_limit > 0) {
    const limit = `the limit of ${quota.plan.tracesPerMonth} traces a month`;
    reasons.unshift(`${refused.trace_limit} over ${limit}; upgrade at ${upgradePath}`);
  }
  if (refused.byte_limit > 0) {
    reasons.unshift(`${refused.byte_limit} over the limit of ${quota.plan.bytesPerMonth} bytes a month`);
  }
  if (reasons.length === 0) return undefined;
  const errorMessage = `Spans were refused: ${reasons.join("; ")}`;
  return { rejectedSpans: overPlan + refused.span_limit + refused.context_limit + invalid, errorMessage };
}

/** The `google.rpc.Code` of each HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  405: 12,
  413: 3,
  415: 3,
  429: 8,
  503: 14,
};
const rpcInternal = 13;

/** Sends an error as `google.rpc.Status` in the request's encoding. Its JSON also has the members of Waymark's other errors. */
function sendOtlpError(response: Response, { status, body, headers, message }: AppError): void {
  const isProtobuf = mediaTypeOf(response.req) === "application/x-protobuf";
  const contentType: OtlpEncoding = isProtobuf ? "application/x-protobuf" : "application/json";
  const { fields } = body as { fields?: Record<string, string> };
  const text = fields ? Object.values(fields).join("; ") : message;
  const bytes = writeStatus(contentType, rpcCodes[status] ?? rpcInternal, text, body);
  sendAnswer(response, { status, headers, contentType, body: bytes });
}

const statusSchema = z.looseObject({ code: z.int32(), message: z.string(), error: z.string() });

function failure(
  description: string,
  example: { code: number; message?: string; error: string },
  headers: readonly string[] = [],
): DocumentedAnswer {
  const { code, error, message = error } = example;
  return {
    description,
    schema: statusSchema,
    example: { code, message, error },
    otherMedia: { "application/x-protobuf": binary },
    ...(headers.length > 0 && { headers }),
  };
}

const answers = {
  200: {
    description:
      "The spans are committed. Where limits refused some, `partialSuccess` has their number and names the limits",
    schema: z.looseObject({
      partialSuccess: z.looseObject({ rejectedSpans: z.string(), errorMessage: z.string() }).optional(),
    }),
    example: {},
    otherMedia: { "application/x-protobuf": binary },
  },
  400: failure("The body cannot be read, or no span is valid and within the bounds of resource, scope and attributes", {
    code: 3,
    error: "Validation failed",
    message: "The body is not an ExportTraceServiceRequest in protobuf",
  }),
  401: failure("The key is missing, malformed, unknown or revoked", { code: 16, error: "Invalid API key" }, [
    "WWW-Authenticate",
  ]),
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
  415: failure("The content type is neither of the two, or the content encoding is unknown", {
    code: 3,
    error: "Unsupported content type",
  }),
  429: failure(
    "All spans are of new traces, and the month's traces are used up, or its bytes are (`reason` is `stored_bytes`)",
    { code: 8, error: "Monthly trace limit reached. Upgrade to Pro." },
    ["Retry-After"],
  ),
  503: failure(
    "The database cannot be reached, or clients send more than it takes in",
    { code: 14, error: "Service temporarily unavailable" },
    ["Retry-After"],
  ),
};
