import { readFileSync } from "node:fs";
import protobuf from "protobufjs/light.js";
import type { Requests, Signal } from "./read-json.js";
import { MalformedRequest, maxValueDepth } from "./request.js";

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

/** The request and the answer of a signal. */
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

/** Loads the official definitions and compiles a signal's decoders. */
export function loadOtlpMessages<Of extends Signal>(signal: Of): OtlpMessages<Of> {
  const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(definitions, "utf8")));
  const { package: name, message } = signals[signal];
  const service = root.lookup(`opentelemetry.proto.collector.${name}.v1`) as protobuf.Namespace;
  return {
    signal,
    request: service.lookupType(`Export${message}ServiceRequest`),
    response: service.lookupType(`Export${message}ServiceResponse`),
  };
}

class BoundedReader extends protobuf.BufferReader {
  private items = 0;

  /** The length before each message, string and byte string. */
  override size(): number {
    if (++this.items > maxItems) throw new RangeError(`more than ${maxItems} items`);
    return super.size();
  }
}

/**
 * Reads OTLP in protobuf.
 * @throws MalformedRequest where the body is no such message, nests too deeply, or has too many items or invalid UTF-8
 */
export function readProtobuf<Of extends Signal>({ request }: OtlpMessages<Of>, body: Buffer): Requests[Of] {
  protobuf.Reader.recursionLimit = maxValueDepth * messagesPerLevel + outerDepth;
  try {
    return request.decode(new BoundedReader(body)) as unknown as Requests[Of];
  } catch (error) {
    throw new MalformedRequest(`The body is not an ${request.name} in protobuf`, { cause: error });
  }
}

/** The media types of OTLP's two encodings (OTLP specification, "OTLP/HTTP"). */
export type OtlpEncoding = "application/x-protobuf" | "application/json";

/** Reports spans, log records or data points of a request that were refused while others were stored. */
export interface PartialSuccess {
  rejected: number;
  errorMessage: string;
}

/** `google.rpc.Status`, the body of errors (OTLP specification, "Failures"); without `details`, which Waymark never sends. */
const status = new protobuf.Type("Status")
  .add(new protobuf.Field("code", 1, "int32"))
  .add(new protobuf.Field("message", 2, "string"));

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

/**
 * The body of an error.
 * @param code a `google.rpc.Code`
 * @param more further members of the JSON; readers of `Status` ignore them
 */
export function writeStatus(encoding: OtlpEncoding, code: number, message: string, more: object = {}): Buffer {
  if (encoding === "application/x-protobuf") return Buffer.from(status.encode({ code, message }).finish());
  return Buffer.from(JSON.stringify({ code, message, ...more }));
}
