import protobuf from "protobufjs/light.js";
import type { OtlpEncoding } from "./protobuf.js";

export const rpcCodes = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** `google.rpc.Status` (OTLP specification, "Failures"). Only gRPC's has `details`: HTTP has `Retry-After`. */
const status = new protobuf.Type("Status")
  .add(
    new protobuf.Type("Any")
      .add(new protobuf.Field("typeUrl", 1, "string"))
      .add(new protobuf.Field("value", 2, "bytes")),
  )
  .add(new protobuf.Field("code", 1, "int32"))
  .add(new protobuf.Field("message", 2, "string"))
  .add(new protobuf.Field("details", 3, "Any", "repeated"));

/** `google.rpc.RetryInfo`: when a client may try again. */
const retryInfo = new protobuf.Type("RetryInfo")
  .add(new protobuf.Type("Duration").add(new protobuf.Field("seconds", 1, "int64")))
  .add(new protobuf.Field("retryDelay", 1, "Duration"));
const retryInfoUrl = "type.googleapis.com/google.rpc.RetryInfo";

export interface RpcStatus {
  code: number;
  message: string;
}

/** The body of an error over HTTP. @param more further members of the JSON; readers of `Status` ignore them */
export function writeStatus(encoding: OtlpEncoding, { code, message }: RpcStatus, more: object = {}): Buffer {
  if (encoding === "application/x-protobuf") return Buffer.from(status.encode({ code, message }).finish());
  return Buffer.from(JSON.stringify({ code, message, ...more }));
}

/** Reads what {@link writeStatus} has written in protobuf. */
export function readStatus(body: Uint8Array): RpcStatus {
  const { code, message } = status.decode(body) as unknown as RpcStatus;
  return { code, message };
}

/** The status of a call over gRPC with the pause before a further attempt, for `grpc-status-details-bin`. */
export function writeStatusDetails({ code, message }: RpcStatus, retryAfterSeconds: number): string {
  const value = retryInfo.encode({ retryDelay: { seconds: retryAfterSeconds } }).finish();
  const bytes = status.encode({ code, message, details: [{ typeUrl: retryInfoUrl, value }] }).finish();
  return Buffer.from(bytes).toString("base64");
}
