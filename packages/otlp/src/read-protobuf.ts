import { readFileSync } from "node:fs";
import protobuf from "protobufjs/light.js";
import { MalformedRequest, maxValueDepth, type TraceRequest } from "./request.js";

const definitions = new URL("../assets/otlp-trace.json", import.meta.url);

/** Messages around an attribute's value: request, resource, scope, span, event, attribute; with room. */
const outerDepth = 10;
/** A list in a list is three messages: the value, its list, the entry of that. */
const messagesPerLevel = 3;
/**
 * Messages, strings and byte strings of a request at most. An empty message takes two bytes on the wire and a hundred times
 * that in memory; real spans take more than ten bytes for each of these, so that 4 MiB of them pass.
 */
const maxItems = 400_000;

/** The messages of OTLP, from the official definitions. */
export interface OtlpMessages {
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
}

/** Loads the definitions and makes decoders of them. */
export function loadOtlpMessages(): OtlpMessages {
  const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(definitions, "utf8")));
  const service = root.lookup("opentelemetry.proto.collector.trace.v1") as protobuf.Namespace;
  return {
    request: service.lookupType("ExportTraceServiceRequest"),
    response: service.lookupType("ExportTraceServiceResponse"),
  };
}

/** Reads like the library's reader, and stops where a request has too many items. */
class BoundedReader extends protobuf.BufferReader {
  private items = 0;

  /** The length that starts each message, string and byte string. */
  override size(): number {
    if (++this.items > maxItems) throw new RangeError(`more than ${maxItems} items`);
    return super.size();
  }
}

/**
 * Reads a request of `application/x-protobuf`.
 * @throws MalformedRequest where it is no such message, holds a string that is not UTF-8, nests too deeply or has too much in it
 */
export function readProtobuf({ request }: OtlpMessages, body: Buffer): TraceRequest {
  protobuf.Reader.recursionLimit = maxValueDepth * messagesPerLevel + outerDepth;
  try {
    return request.decode(new BoundedReader(body)) as unknown as TraceRequest;
  } catch (error) {
    throw new MalformedRequest("The body is not an ExportTraceServiceRequest in protobuf", { cause: error });
  }
}
