import { readFileSync } from "node:fs";
import protobuf from "protobufjs/light.js";
import { MalformedRequest, maxValueDepth, type TraceRequest } from "./request.js";

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
