import { createHash } from "node:crypto";
import { validationError } from "@waymark/errors";
import type { Request } from "express";
import type { OpenApiParameter } from "../openapi/openapi-parameter.js";

const headerName = "Idempotency-Key";
const maxLength = 255;

/** How a client names a request that it may send again. */
export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 over method, path and the body's bytes: tells a repeated request from another one. */
  readonly requestHash: Buffer;
}

/** The header as the API description shows it. */
export const idempotencyKeyParameter: OpenApiParameter = {
  name: headerName,
  in: "header",
  required: false,
  description:
    "Makes it safe to send the request again: the same key with the same request gets the same answer, with `Idempotent-Replayed: true`, and stores nothing twice. Keys are the account's own and are kept for 24 hours at least; only successes are remembered. A random UUID for each request does well.",
  schema: { type: "string", minLength: 1, maxLength, pattern: "^[ -~]+$" },
};

/**
 * Reads the header `Idempotency-Key`; undefined where the request has none.
 * @returns what takes the body's bytes, inflated, and then gives the key
 * @throws AppError 400 unless it has 1 to 255 printable ASCII characters
 */
export function readIdempotencyKey(request: Request) {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key.length > maxLength || !/^[ -~]+$/.test(key)) {
    throw validationError({ [headerName]: `Must be 1 to ${maxLength} printable ASCII characters` });
  }
  const hash = createHash("sha256").update(`${request.method} ${request.baseUrl}${request.path}\n`);
  return {
    addBody: (bytes: Buffer) => void hash.update(bytes),
    take: (): IdempotencyKey => ({ key, requestHash: hash.digest() }),
  };
}
