import {
  type CheckPassword,
  createSessionCookie,
  endSessionOfToken,
  homeAccountOf,
  startSession,
} from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";
import { type MailLinkDeps, mailLink } from "./mail-link.js";
import type { OtherCells } from "./other-cells.js";
import { type EntryOptions, type SignInAnswer, signInBody } from "./session.schema.js";

export interface SignInDeps extends MailLinkDeps {
  config: Pick<Config, "url" | "signUp">;
  checkPassword: CheckPassword;
  guesses: Guesses;
  otherCells: OtherCells;
}

export function getSignInRoute({ config }: Pick<SignInDeps, "config">) {
  return pageRoute({
    method: "get",
    path: "/sign-in",
    handle: async () => ({ status: 200, body: { signUp: config.signUp } satisfies EntryOptions }),
  });
}

/**
 * `POST /sign-in`. Beyond the limit of an address of mail a right password gets a mailed link in place of a session, with the
 * answer of a wrong one: guessing goes nowhere, and nobody locks another person out. What is wrong here may be right in another
 * cell, which counts its guesses itself.
 */
export function signInRoute(deps: SignInDeps) {
  const { pool, config, checkPassword, guesses, otherCells, mails, now } = deps;
  const cookie = createSessionCookie(config.url);
  return pageRoute({
    method: "post",
    path: "/sign-in",
    body: signInBody,
    async handle({ body: { email, password }, request }) {
      const { isAllowed, network, refund } = await guesses.admit(request, "sign-in", email);
      const found = await checkPassword(email, password, network);
      const askOthers = () => otherCells.ask({ request, method: "POST", path: "/sign-in", body: { email, password } });
      if (!isAllowed) {
        if (found) mails.later(() => mailLink(deps, { purpose: "sign_in", email, personId: found.personId }));
        else mails.later(async () => void (await askOthers()));
        return { status: 202, body: { isSignedIn: false } satisfies SignInAnswer };
      }
      const accountId = found && (await homeAccountOf(pool, found.personId));
      if (!found || accountId === undefined) {
        const answer = await askOthers();
        if (!answer) throw new AppError("wrong_password");
        if (answer.status === 200) await refund();
        return answer;
      }
      await refund();
      const before = cookie.read(request.headers.cookie);
      if (before !== undefined) await endSessionOfToken(pool, before);
      const userAgent = request.get("user-agent");
      const token = await startSession(pool, { personId: found.personId, accountId, userAgent, now: now() });
      const headers = { "Set-Cookie": cookie.write(token) };
      return { status: 200, headers, body: { isSignedIn: true } satisfies SignInAnswer };
    },
  });
}
