import { AppError } from "@waymark/errors";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { bearerToken, type KeyService, keyProblem } from "./api-key.js";
import type { Principal } from "./find-key.query.js";
import type { KeyDirectory } from "./key-directory.js";

/** An account is away for seconds at the end of its move, and its clients repeat. */
const movingRetrySeconds = 5;

/** Reads of an account that moves to another cell go on until the other cell has all of it. @throws AppError 503 */
export function requirePresent({ move }: Principal, { method }: Request): void {
  if (move === undefined || (move === "moving" && (method === "GET" || method === "HEAD"))) return;
  throw new AppError("unavailable", { headers: { "Retry-After": String(movingRetrySeconds) } });
}

/**
 * Passes requests with a good key and stores their principal. A missing, malformed, unknown, revoked, ended, other-service or other-cell key
 * gets the same 401 (trace contract, "Authentication" 5; RFC 6750 for the scheme and `WWW-Authenticate`) with a hint, and one of
 * an account on its way to another cell 503 with `Retry-After`.
 */
export function authenticate(service: KeyService, directory: Pick<KeyDirectory, "find">): RequestHandler {
  const admit = (principal: Principal | undefined, request: Request, response: Response, next: NextFunction) => {
    if (!principal) {
      const details = { hint: keyProblem(service, request.headers.authorization), docs: "/docs" };
      throw new AppError("invalid_api_key", { details, headers: { "WWW-Authenticate": 'Bearer realm="waymark"' } });
    }
    const { accountId, keyId } = principal;
    // Of the access line; also of a request that the next line refuses.
    response.locals["caller"] = { accountId, keyId };
    requirePresent(principal, request);
    response.locals["principal"] = principal;
    next();
  };
  return (request, response, next) => {
    const key = bearerToken(request.headers.authorization);
    const found = key === undefined ? undefined : directory.find(key);
    return found instanceof Promise
      ? found.then((principal) => admit(principal, request, response, next))
      : admit(found, request, response, next);
  };
}
