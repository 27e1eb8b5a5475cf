import { AppError } from "@waymark/errors";
import type { NextFunction, RequestHandler, Response } from "express";
import type { Principal } from "./find-key.query.js";
import type { KeyDirectory } from "./key-directory.js";

/**
 * Passes requests with a good key and stores their principal. A missing, malformed, unknown, revoked, ended, other-service or other-cell key
 * gets the same 401 (trace contract, "Authentication" 5; RFC 6750 for the scheme and `WWW-Authenticate`).
 */
export function authenticate(directory: Pick<KeyDirectory, "find">): RequestHandler {
  const admit = (principal: Principal | undefined, response: Response, next: NextFunction) => {
    if (!principal)
      throw new AppError("invalid_api_key", { headers: { "WWW-Authenticate": 'Bearer realm="waymark"' } });
    response.locals["principal"] = principal;
    next();
  };
  return (request, response, next) => {
    const key = bearerToken(request.headers.authorization);
    const found = key === undefined ? undefined : directory.find(key);
    return found instanceof Promise
      ? found.then((principal) => admit(principal, response, next))
      : admit(found, response, next);
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
