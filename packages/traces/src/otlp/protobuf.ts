import { readFileSync } from "node:fs";
import protobuf from "protobufjs/light.js";
import type { TraceRequest } from "./read-json.js";
import { MalformedRequest, maxValueDepth } from "./request.js";

const definitions = new URL("../../assets/otlp-trace.json", import.meta.url);

/** Messages around an attribute's value (request, resource, scope, span, event, attribute), rounded up. */
const outerDepth = 10;
/** Of a list in a list: the value, its list, the entry. */
const messagesPerLevel = 3;
/**
 * Messages, strings and byte strings of a request. An empty message takes two bytes on the wire and a hundred times that in
 * memory. Real spans take more than ten bytes for each, so 4 MiB of them pass.
 */
const maxItems = 400_000;

export interface OtlpMessages {
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
}

/** Loads the official definitions and compiles their decoders. */
export function loadOtlpMessages(): OtlpMessages {
  const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(definitions, "utf8")));
  const service = root.lookup("opentelemetry.proto.collector.trace.v1") as protobuf.Namespace;
  return {
    request: service.lookupType("ExportTraceServiceRequest"),
    response: service.lookupType("ExportTraceServiceResponse"),
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
export function readProtobuf({ request }: OtlpMessages, body: Buffer): TraceRequest {
  protobuf.Reader.recursionLimit = maxValueDepth * messagesPerLevel + outerDepth;
  try {
    return request.decode(new BoundedReader(body)) as unknown as TraceRequest;
  } catch (error) {
    throw new MalformedRequest("The body is not an ExportTraceServiceRequest in protobuf", { cause: error });
  }
}

/** The media types of OTLP's two encodings (OTLP specification, "OTLP/HTTP"). */
export type OtlpEncoding = "application/x-protobuf" | "application/json";

/** Reports spans of a request that were refused while others were stored. */
export interface PartialSuccess {
  rejectedSpans: number;
  errorMessage: string;
}

/** `google.rpc.Status`, the body of errors (OTLP specification, "Failures"); without `details`, which Waymark never sends. */
const status = new protobuf.Type("Status")
  .add(new protobuf.Field("code", 1, "int32"))
  .add(new protobuf.Field("message", 2, "string"));

/** The body of a success: empty unless spans were refused (OTLP specification, "Partial Success"). */
export function writeSuccess({ response }: OtlpMessages, encoding: OtlpEncoding, partial?: PartialSuccess): Buffer {
  if (!partial) return Buffer.from(encoding === "application/json" ? "{}" : "");
  const { rejectedSpans, errorMessage } = partial;
  if (encoding === "application/x-protobuf") return Buffer.from(response.encode({ partialSuccess: partial }).finish());
  return Buffer.from(JSON.stringify({ partialSuccess: { rejectedSpans: String(rejectedSpans), errorMessage } }));
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
