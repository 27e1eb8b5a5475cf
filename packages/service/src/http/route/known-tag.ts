import type { Request } from "express";

/** Whether a reading request knows the answer with this `ETag`: `If-None-Match` names it, weak or strong, or any (RFC 9110, 13.1.2). */
export function isKnownTag(request: Pick<Request, "headers" | "method">, tag: string | undefined): boolean {
  const known = request.headers["if-none-match"];
  if (known === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  return known.trim() === "*" || (tag !== undefined && known.includes(tag.replace(/^W\//, "")));
}
