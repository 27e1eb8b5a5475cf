import { createHash } from "node:crypto";
import { validationError } from "@waymark/errors";
import type { Request } from "express";
import type { OpenApiParameter } from "../schema/json-schema.js";

const headerName = "Idempotency-Key";
const maxLength = 255;

/** A client's name for a request, so it can send it again. */
export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 of method, path and body: distinguishes a repeated request from another one. */
  readonly requestHash: Buffer;
}

export const idempotencyKeyParameter: OpenApiParameter = {
  name: headerName,
  in: "header",
  required: false,
  description:
    "Makes a retry safe. The same key with the same request gets the same answer, with `Idempotent-Replayed: true`, and stores nothing twice. Keys belong to the account and last at least 24 hours. Only successes are remembered. Use a random UUID for each request.",
  schema: { type: "string", minLength: 1, maxLength, pattern: "^[ -~]+$" },
};

/**
 * @returns undefined without the header; otherwise `addBody` takes the inflated body, then `take` returns the key
 * @throws AppError 400 unless the key has 1 to 255 printable ASCII characters
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
