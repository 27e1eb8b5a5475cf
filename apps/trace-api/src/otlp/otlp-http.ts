import { type AppError, validationError } from "@waymark/errors";
import { findRepeatedMember, hasManyKeys } from "@waymark/service/fields";
import {
  type DocumentedAnswer,
  type EncodedBody,
  inSteps,
  mediaTypeOf,
  parseJsonInSteps,
  sendAnswer,
  shapeJson,
} from "@waymark/service/http";
import {
  MalformedRequest,
  type OtlpEncoding,
  type OtlpMessages,
  quoteNumbers,
  type Requests,
  RoundedNumber,
  readersAt,
  readJson,
  readProtobuf,
  rejectedName,
  rpcCodes,
  type Signal,
  writeStatus,
} from "@waymark/traces/otlp";
import type { Response } from "express";
import { z } from "zod";

/** How deeply the JSON of a request may nest: 200 lists in each other take four levels each, and the messages around them 20. */
const maxJsonDepth = 820;

const binary = { schema: z.unknown().meta({ type: "string", format: "binary" }) };

export function bodyOf(list: string, example: object) {
  return {
    "application/x-protobuf": binary,
    "application/json": { schema: z.looseObject({ [list]: z.array(z.looseObject({})).optional() }), example },
  };
}

/** In steps, so small requests run in between: the largest takes some tenths of a second. */
export async function readOtlp<Of extends Signal, Mapped>(
  messages: OtlpMessages<Of>,
  { mediaType, bytes }: EncodedBody<OtlpEncoding>,
  map: (request: Requests[Of]) => Generator<void, Mapped>,
): Promise<Mapped> {
  try {
    return mediaType === "application/x-protobuf"
      ? await inSteps(map(await inSteps(readProtobuf(messages, bytes))))
      : await readJsonBody(messages.signal, bytes, map);
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
async function readJsonBody<Of extends Signal, Mapped>(
  signal: Of,
  bytes: Buffer,
  map: (request: Requests[Of]) => Generator<void, Mapped>,
): Promise<Mapped> {
  const json = await shapeJson(bytes, maxJsonDepth);
  const { containers, members } = json.shape;
  if (containers > maxContainers)
    throw new MalformedRequest(`There must not be more than ${maxContainers} objects and arrays`);
  if (members > fewMembers && (await inSteps(hasManyKeys(json.bytes.toString(), maxKeys))))
    throw new MalformedRequest(`There must not be more than ${maxKeys} different names of members`);
  const mapOf = (quoted?: typeof json) =>
    parseJsonInSteps(json, {
      as: quoted,
      maxDepth: maxJsonDepth,
      readersAt: readersAt(signal),
      async read(body) {
        const read = await inSteps(readJson(signal, body, quoted !== undefined));
        const mapped = await inSteps(map(read.request));
        if (read.members() === members) return mapped;
        const repeated = await inSteps(findRepeatedMember(json.bytes.toString()));
        if (repeated === undefined) return mapped;
        throw new MalformedRequest(`${repeated.slice(0, 100)} must not be given twice in one object`);
      },
    });
  try {
    return await mapOf();
  } catch (error) {
    if (!(error instanceof RoundedNumber)) throw error;
    return mapOf(await shapeJson(Buffer.from(quoteNumbers(json.bytes.toString())), maxJsonDepth));
  }
}

/** The `google.rpc.Code` of each HTTP status. */
const codeOfStatus: Readonly<Record<number, number>> = {
  400: rpcCodes.invalidArgument,
  401: rpcCodes.unauthenticated,
  403: rpcCodes.permissionDenied,
  405: rpcCodes.unimplemented,
  413: rpcCodes.invalidArgument,
  415: rpcCodes.invalidArgument,
  429: rpcCodes.resourceExhausted,
  503: rpcCodes.unavailable,
};

/** Sends an error as `google.rpc.Status` in the request's encoding. Its JSON also has the members of Waymark's other errors. */
export function sendOtlpError(response: Response, { status, body, headers, message }: AppError): void {
  const isProtobuf = mediaTypeOf(response.req) === "application/x-protobuf";
  const contentType: OtlpEncoding = isProtobuf ? "application/x-protobuf" : "application/json";
  const { fields } = body as { fields?: Record<string, string> };
  const text = fields ? Object.values(fields).join("; ") : message;
  const code = codeOfStatus[status] ?? rpcCodes.internal;
  const bytes = writeStatus(contentType, { code, message: text }, body);
  sendAnswer(response, { status, headers, contentType, body: bytes });
}

const statusSchema = z.looseObject({ code: z.int32(), message: z.string(), error: z.string() });

export function failure(
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

/** The answers of every signal's route. @param what such as `span`: what a request has */
export function answersOf(signal: Signal, what: string, { 200: stored, 400: unreadable }: Record<200 | 400, string>) {
  const name = { traces: "Trace", logs: "Logs", metrics: "Metrics" }[signal];
  return {
    200: {
      description: stored,
      schema: z.looseObject({
        partialSuccess: z.looseObject({ [rejectedName(signal)]: z.string(), errorMessage: z.string() }).optional(),
      }),
      example: {},
      otherMedia: { "application/x-protobuf": binary },
    },
    400: failure(unreadable, {
      code: 3,
      error: "Validation failed",
      message: `The body is not an Export${name}ServiceRequest in protobuf`,
    }),
    401: failure("The key is missing, malformed, unknown or revoked", { code: 16, error: "Invalid API key" }, [
      "WWW-Authenticate",
    ]),
    403: failure("The key's scope is `read`", { code: 7, error: "This key has the wrong scope" }, ["WWW-Authenticate"]),
    413: failure("The inflated body is over the limit", { code: 3, error: "Body too large" }),
    415: failure("The content type is neither of the two, or the content encoding is unknown", {
      code: 3,
      error: "Unsupported content type",
    }),
    429: failure(
      `Too many requests a second, or too much in progress for this account; no ${what} was stored`,
      {
        code: 8,
        error: "Rate limit exceeded",
      },
      ["Retry-After"],
    ),
    503: failure(
      "The database cannot be reached, or clients send more than it takes in",
      { code: 14, error: "Service temporarily unavailable" },
      ["Retry-After"],
    ),
  };
}
