import { readPassword } from "@waymark/accounts/identity";
import { tooMany, validationError } from "@waymark/errors";
import type { Request } from "express";
import type { AppDeps } from "../app-deps.js";

interface OwnPassword {
  personId: string;
  given: string | undefined;
  /** That of the request's body. */
  field: string;
}

/** Checks the password of somebody signed in, where they have one. @returns the network. @throws AppError 400, 429 */
export async function requireOwnPassword(
  { pool, passwords, guesses }: AppDeps,
  request: Request,
  { personId, given, field }: OwnPassword,
): Promise<string> {
  const { isAllowed, retryAfterSeconds, network, refund } = await guesses.admit(request, "password", personId);
  if (!isAllowed) throw tooMany(retryAfterSeconds);
  const stored = await readPassword(pool, personId);
  if (stored !== undefined && !(await passwords.verify(stored, given ?? "", network))) {
    throw validationError({ [field]: given === undefined ? "Required" : "Is not your password" });
  }
  await refund();
  return network;
}
