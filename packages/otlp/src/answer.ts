import protobuf from "protobufjs/light.js";
import type { OtlpMessages } from "./read-protobuf.js";

/** The two forms of OTLP over HTTP. */
export type OtlpForm = "protobuf" | "json";

/** What was not stored of a request whose rest was. */
export interface PartialSuccess {
  rejectedSpans: number;
  errorMessage: string;
}

/** `google.rpc.Status`, the body of errors (OTLP specification, "Failures"); without `details`, which we never send. */
const status = new protobuf.Type("Status")
  .add(new protobuf.Field("code", 1, "int32"))
  .add(new protobuf.Field("message", 2, "string"));

/** The body of a success: empty, unless a part was refused (OTLP specification, "Partial Success"). */
export function writeSuccess({ response }: OtlpMessages, form: OtlpForm, partial?: PartialSuccess): Buffer {
  if (!partial) return Buffer.from(form === "json" ? "{}" : "");
  const { rejectedSpans, errorMessage } = partial;
  if (form === "protobuf") return Buffer.from(response.encode({ partialSuccess: partial }).finish());
  return Buffer.from(JSON.stringify({ partialSuccess: { rejectedSpans: String(rejectedSpans), errorMessage } }));
}

/**
 * The body of an error.
 * @param code of `google.rpc.Code`
 * @param more further members of the JSON, which readers of `Status` ignore
 */
export function writeStatus(form: OtlpForm, code: number, message: string, more: object = {}): Buffer {
  if (form === "protobuf") return Buffer.from(status.encode({ code, message }).finish());
  return Buffer.from(JSON.stringify({ code, message, ...more }));
}
