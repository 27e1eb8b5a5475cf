import { AppError } from "@waymark/errors";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { KeyScope } from "./api-key.js";
import type { Principal } from "./find-key.query.js";
import type { KeyDirectory } from "./key-directory.js";

/** An account is away for seconds at the end of its move, and its clients repeat. */
const movingRetrySeconds = 5;

/** Reads of an account that moves to another cell go on until the other cell has all of it. */
function isAway({ move }: Principal, { method }: Request): boolean {
  return move !== undefined && !(move === "moving" && (method === "GET" || method === "HEAD"));
}

/**
 * Passes requests with a good key and stores their principal. A missing, malformed, unknown, revoked, ended, other-service or other-cell key
 * gets the same 401 (trace contract, "Authentication" 5; RFC 6750 for the scheme and `WWW-Authenticate`), and one of an account
 * on its way to another cell 503 with `Retry-After`.
 */
export function authenticate(directory: Pick<KeyDirectory, "find">): RequestHandler {
  const admit = (principal: Principal | undefined, request: Request, response: Response, next: NextFunction) => {
    if (!principal)
      throw new AppError("invalid_api_key", { headers: { "WWW-Authenticate": 'Bearer realm="waymark"' } });
    if (isAway(principal, request))
      throw new AppError("unavailable", { headers: { "Retry-After": String(movingRetrySeconds) } });
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

/** The principal of a request. Throws when {@link authenticate} did not run, which is a mistake in the routes. */
export function principalOf(response: Response): Principal {
  const principal: Principal | undefined = response.locals["principal"];
  if (!principal) throw new Error("This route is not behind authenticate()");
  return principal;
}

export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}

export function sufficientScopes(needed: KeyScope): readonly KeyScope[] {
  return needed === "all" ? ["all"] : [needed, "all"];
}

export function scopeProblem(scope: KeyScope, needed: KeyScope): string | undefined {
  const sufficient = sufficientScopes(needed);
  if (sufficient.includes(scope)) return undefined;
  return `This key has the scope '${scope}'; the request needs a key with the scope '${sufficient.join("' or '")}'`;
}

/** @throws AppError 403 (RFC 6750, `insufficient_scope`) for a key whose scope does not suffice */
export function requireScope({ scope }: { readonly scope: KeyScope }, needed: KeyScope): void {
  const message = scopeProblem(scope, needed);
  if (message === undefined) return;
  const challenge = `Bearer realm="waymark", error="insufficient_scope", scope="${needed}"`;
  throw new AppError("scope_required", { message, headers: { "WWW-Authenticate": challenge } });
}
