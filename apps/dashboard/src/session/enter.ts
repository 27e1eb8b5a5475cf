import { createSessionCookie, endSessionOfToken, startSession, takeCode, wrongCode } from "@waymark/accounts/identity";
import { tooMany } from "@waymark/errors";
import type { Request } from "express";
import type { AppDeps } from "../app-deps.js";

/** Starts a session, always with a new token, in place of the browser's earlier one. @returns the headers of the answer */
export async function enter(
  { pool, config, now }: Pick<AppDeps, "pool" | "config" | "now">,
  request: Request,
  person: { personId: string; accountId: string },
) {
  const cookie = createSessionCookie(config.url);
  const before = cookie.read(request.headers.cookie);
  if (before !== undefined) await endSessionOfToken(pool, before);
  const token = await startSession(pool, { ...person, userAgent: request.get("user-agent"), now: now() });
  return { "Set-Cookie": cookie.write(token) };
}

/** Makes the check of a request's codes: ten tries of a person in a quarter of an hour, wherever they are asked for. */
export function codeCheck({ pool, guesses, now }: Pick<AppDeps, "pool" | "guesses" | "now">, request: Request) {
  return async (personId: string, code: string): Promise<boolean> => {
    const { isAllowed, retryAfterSeconds, refund } = await guesses.admit(request, "code", personId);
    if (!isAllowed) throw tooMany(retryAfterSeconds);
    const isRight = await takeCode(pool, { personId, code, now: now() });
    if (isRight) await refund();
    return isRight;
  };
}

/** @throws AppError 400 for a wrong code, 429 */
export async function requireCode(check: ReturnType<typeof codeCheck>, personId: string, code: string): Promise<void> {
  if (!(await check(personId, code))) throw wrongCode();
}
