import { AppError } from "@waymark/errors";
import type { Request } from "express";

/** The request's media type in lower case, without parameters; empty if it has none. */
export function mediaTypeOf(request: Request): string {
  return (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** @throws AppError 415 unless the request's media type is allowed */
export function requireMediaType(request: Request, allowed: readonly string[]): string {
  const mediaType = mediaTypeOf(request);
  if (!allowed.includes(mediaType)) throw unsupportedMediaType(allowed);
  return mediaType;
}

export function unsupportedMediaType(allowed: readonly string[]): AppError {
  return new AppError("unsupported_media_type", { details: { allowed }, headers: { Accept: allowed.join(", ") } });
}
