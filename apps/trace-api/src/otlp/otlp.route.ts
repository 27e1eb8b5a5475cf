import { validationError } from "@waymark/errors";
import { findRepeatedMember, hasManyKeys } from "@waymark/service/fields";
import {
  type DocumentedAnswer,
  type EncodedBody,
  inSteps,
  parseJson,
  readJsonText,
  route,
} from "@waymark/service/http";
import {
  loadOtlpMessages,
  MalformedRequest,
  type MappedRequest,
  mapRequest,
  type OtlpEncoding,
  type OtlpMessages,
  quoteNumbers,
  readJson,
  readProtobuf,
  type TraceRequest,
  writeSuccess,
} from "@waymark/traces/otlp";
import { z } from "zod";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { byteHeaders, quotaHeaders, senderOf } from "../usage/trace-quota.js";
import { sendOtlpError } from "./otlp-error.js";
import { partialSuccessOf } from "./partial-success.js";
import { createSpansStore, type StoreSpansDeps } from "./store-spans.js";

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
  const read = readJson(parseJson(text));
  if (read.members !== members) {
    const key = await inSteps(findRepeatedMember(text));
    if (key !== undefined) throw new MalformedRequest(`${key.slice(0, 100)} must not be given twice in one object`);
  }
  return read.isExact ? read.request : readJson(JSON.parse(quoteNumbers(text))).request;
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
  403: failure("All spans are of further agents than the plan allows", {
    code: 7,
    error: "Free plan limited to 1 agent",
  }),
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
