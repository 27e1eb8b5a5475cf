import { AppError } from "@waymark/errors";
import type { Response } from "express";
import type { KeyScope } from "./api-key.js";
import type { Principal } from "./find-key.query.js";

/** The principal of a request. Throws when `authenticate` did not run, which is a mistake in the routes. */
export function principalOf(response: Response): Principal {
  const principal: Principal | undefined = response.locals["principal"];
  if (!principal) throw new Error("This route is not behind authenticate()");
  return principal;
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
