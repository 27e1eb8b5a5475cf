import protobuf from "protobufjs/light.js";
import type { OtlpMessages } from "./read-protobuf.js";

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
