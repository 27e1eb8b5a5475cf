import { readFileSync } from "node:fs";
import protobuf from "protobufjs/light.js";
import type { OtlpSpan, ReadSpan, Requests, Signal, SpanReader } from "./read-json.js";
import { MalformedRequest, maxMembersOfOne, maxValueDepth } from "./request.js";

const definitions = new URL("../../assets/otlp.json", import.meta.url);

/** Messages around an attribute's value (request, resource, scope, span, event, attribute), rounded up. */
const outerDepth = 10;
/** Of a list in a list: the value, its list, the entry. */
const messagesPerLevel = 3;
/**
 * Messages, strings and byte strings of a request. An empty message takes two bytes on the wire and a hundred times that in
 * memory. Real spans take more than ten bytes for each, so 4 MiB of them pass.
 */
const maxItems = 400_000;

export interface OtlpMessages<Of extends Signal> {
  readonly signal: Of;
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
}

/** The parts of each signal's names, and the member that counts what was refused. */
const signals = {
  traces: { package: "trace", message: "Trace", rejected: "rejectedSpans" },
  logs: { package: "logs", message: "Logs", rejected: "rejectedLogRecords" },
  metrics: { package: "metrics", message: "Metrics", rejected: "rejectedDataPoints" },
} as const satisfies Record<Signal, { package: string; message: string; rejected: string }>;

export const rejectedName = <Of extends Signal>(signal: Of) => signals[signal].rejected;

/** Has the name of the member that was set last. The setter of protobufjs deletes six others for each value. */
const ownValue = () =>
  class extends protobuf.Message {
    value: string | undefined = undefined;
  };

/** Loads the official definitions and compiles a signal's decoders. */
export function loadOtlpMessages<Of extends Signal>(signal: Of): OtlpMessages<Of> {
  const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(definitions, "utf8"))).resolveAll();
  root.lookupType("opentelemetry.proto.common.v1.AnyValue").ctor = ownValue();
  const { package: name, message } = signals[signal];
  const service = root.lookup(`opentelemetry.proto.collector.${name}.v1`) as protobuf.Namespace;
  return {
    signal,
    request: service.lookupType(`Export${message}ServiceRequest`),
    response: service.lookupType(`Export${message}ServiceResponse`),
  };
}

/** Of one span, log record or metric. An attribute with a text has four. */
const maxItemsOfOne = 4 * maxMembersOfOne;
/** Decoding as many bytes takes a millisecond or two. */
const bytesPerStep = 16_384;
/** Spans, log records and metrics are in a scope, that in a resource, and that in the request. */
const depthOfOne = 3;
const lengthDelimited = 2;

class BoundedReader extends protobuf.BufferReader {
  items = 0;

  constructor(
    body: Buffer,
    private readonly message: string,
  ) {
    super(body);
  }

  malformed(cause: unknown): MalformedRequest {
    return new MalformedRequest(`The body is not an ${this.message} in protobuf`, { cause });
  }

  /** The length before each message, string and byte string. */
  override size(): number {
    if (++this.items > maxItems) throw new RangeError(`more than ${maxItems} items`);
    return super.size();
  }
}

/**
 * Yields between steps, and leaves the short spans of a large request to their readers.
 * @throws MalformedRequest for no such message, deep nesting, many items, wrong UTF-8
 */
export function* readProtobuf<Of extends Signal>(
  { request }: OtlpMessages<Of>,
  body: Buffer,
): Generator<void, Requests[Of]> {
  protobuf.Reader.recursionLimit = maxValueDepth * messagesPerLevel + outerDepth;
  const reader = new BoundedReader(body, request.name);
  try {
    return (yield* decode(request, reader, { bytes: body.length, depth: 0 })) as unknown as Requests[Of];
  } catch (error) {
    throw reader.malformed(error);
  }
}

type Message = Record<string, unknown>;

interface Decoder {
  decode(reader: protobuf.Reader, bytes: number, endTag: undefined, depth: number, known: Message | undefined): Message;
}

interface Part {
  bytes: number;
  depth: number;
  /** What an earlier part of the same message gave; protobuf merges both. */
  known?: Message | undefined;
}

/**
 * Decodes a message as protobufjs does, a long one in pieces: its long messages one by one, its other members together.
 * @returns null for a span, log record or metric with too many items
 */
function* decode(
  type: protobuf.Type,
  reader: BoundedReader,
  { bytes, depth, known }: Part,
): Generator<void, Message | null> {
  const decodePiece = (length: number, soFar: Message | undefined) =>
    (type as unknown as Decoder).decode(reader, length, undefined, depth, soFar);
  if (bytes <= bytesPerStep) return decodePiece(bytes, known);
  if (depth > protobuf.Reader.recursionLimit) throw new RangeError("max depth exceeded");
  const [outerEnd, end, mostItems] = [reader.len, reader.pos + bytes, reader.items + maxItemsOfOne];
  if (end > outerEnd) throw new RangeError("index out of range");
  reader.len = end;
  let from = reader.pos;
  let message = decodePiece(0, known);
  while (reader.pos < end) {
    const at = reader.pos;
    const long = skipShort(type, reader, depth);
    if (!long && reader.pos - from < bytesPerStep && reader.pos < end) continue;
    const next = reader.pos;
    reader.pos = from;
    const short = (long ? at : next) - from;
    if (short > 0) message = decodePiece(short, message);
    reader.pos = next;
    if (long) yield* addLong(message, reader, long, depth);
    from = reader.pos;
    if (depth === depthOfOne && reader.items > mostItems) {
      [reader.pos, reader.len] = [end, outerEnd];
      return null;
    }
    yield;
  }
  if (reader.pos !== end) throw new RangeError("index out of range");
  reader.len = outerEnd;
  return message;
}

interface LongField {
  field: protobuf.Field;
  type: protobuf.Type;
  bytes: number;
}

/** Skips a member, or only the head of a long message or a span. */
function skipShort(type: protobuf.Type, reader: BoundedReader, depth: number): LongField | undefined {
  const tag = reader.tag();
  const wireType = tag & 7;
  if (wireType !== lengthDelimited) {
    reader.skipType(wireType, depth, tag >>> 3);
    return undefined;
  }
  const bytes = reader.uint32();
  const field = type.fieldsById[tag >>> 3];
  if (field?.resolvedType instanceof protobuf.Type && (bytes > bytesPerStep || field.name === spansName))
    return { field, type: field.resolvedType, bytes };
  reader.skip(bytes);
  return undefined;
}

function* addLong(
  message: Message,
  reader: BoundedReader,
  { field, type, bytes }: LongField,
  depth: number,
): Generator<void, void> {
  const { name, repeated, partOf } = field;
  const own = message[name];
  reader.items++;
  if (repeated) {
    const list = Object.hasOwn(message, name) ? (own as (Message | null)[]) : [];
    message[name] = list;
    const part = { bytes, depth: depth + 1 };
    if (name === spansName && bytes <= bytesPerStep) (list as ReadSpan[]).push(spanReader(type, reader, part));
    else list.push(yield* decode(type, reader, part));
    return;
  }
  const known = (own as Message | null) ?? undefined;
  message[name] = yield* decode(type, reader, { bytes, depth: depth + 1, known });
  if (partOf) message[partOf.name] = name;
}

/** The list of `ScopeSpans`; no other message has a member of that name. */
const spansName = "spans";

/** Skips a short span. @throws RangeError where the message around it ends before */
function spanReader(type: protobuf.Type, reader: BoundedReader, { bytes, depth }: Part): SpanReader {
  const start = reader.pos;
  reader.skip(bytes);
  return () => {
    try {
      reader.pos = start;
      reader.len = start + bytes;
      return (type as unknown as Decoder).decode(reader, bytes, undefined, depth, undefined) as unknown as OtlpSpan;
    } catch (error) {
      throw reader.malformed(error);
    }
  };
}

/** The media types of OTLP's two encodings (OTLP specification, "OTLP/HTTP"). */
export type OtlpEncoding = "application/x-protobuf" | "application/json";

/** Reports spans, log records or data points of a request that were refused while others were stored. */
export interface PartialSuccess {
  rejected: number;
  errorMessage: string;
}

/** The body of a success: empty unless something was refused (OTLP specification, "Partial Success"). */
export function writeSuccess(
  { signal, response }: OtlpMessages<Signal>,
  encoding: OtlpEncoding,
  partial?: PartialSuccess,
): Buffer {
  if (!partial) return Buffer.from(encoding === "application/json" ? "{}" : "");
  const { rejected, errorMessage } = partial;
  const name = rejectedName(signal);
  if (encoding === "application/json")
    return Buffer.from(JSON.stringify({ partialSuccess: { [name]: String(rejected), errorMessage } }));
  return Buffer.from(response.encode({ partialSuccess: { [name]: rejected, errorMessage } }).finish());
}
