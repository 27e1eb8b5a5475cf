import type { AppError } from "@waymark/errors";
import { mediaTypeOf, sendAnswer } from "@waymark/service/http";
import { type OtlpEncoding, writeStatus } from "@waymark/traces/otlp";
import type { Response } from "express";

/** The `google.rpc.Code` of each HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  405: 12,
  413: 3,
  415: 3,
  429: 8,
  503: 14,
};
const rpcInternal = 13;

/** Sends an error as `google.rpc.Status` in the request's encoding. Its JSON also has the members of Waymark's other errors. */
export function sendOtlpError(response: Response, { status, body, headers, message }: AppError): void {
  const isProtobuf = mediaTypeOf(response.req) === "application/x-protobuf";
  const contentType: OtlpEncoding = isProtobuf ? "application/x-protobuf" : "application/json";
  const { fields } = body as { fields?: Record<string, string> };
  const text = fields ? Object.values(fields).join("; ") : message;
  const bytes = writeStatus(contentType, rpcCodes[status] ?? rpcInternal, text, body);
  sendAnswer(response, { status, headers, contentType, body: bytes });
}
