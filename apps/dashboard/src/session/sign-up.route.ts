import { AppError, validationError } from "@waymark/errors";
import { route } from "@waymark/http";
import { createLink, findPersonByEmail, linkUrl, type Passwords, passwordProblem } from "@waymark/identity";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import type { AccountMails } from "./account-mails.js";
import type { Guesses } from "./guesses.js";
import { forgotBody, type MailedAnswer, signUpBody } from "./session.schema.js";

export interface SignUpDeps {
  pool: pg.Pool;
  config: Pick<Config, "url" | "signUp">;
  passwords: Passwords;
  guesses: Guesses;
  mails: AccountMails;
  now(): Date;
}

const mailed = { status: 202, body: { isMailed: true } satisfies MailedAnswer };
const answers = { 202: { description: "A mail goes out", schema: z.custom<MailedAnswer>() } };

/**
 * `POST /sign-up`. The mail decides: a new address gets a link that makes its person, a known one is told so. Work and answer
 * are the same for both.
 */
export function signUpRoute({ pool, config, passwords, guesses, mails, now }: SignUpDeps) {
  const mail = async (person: { name: string; email: string; passwordHash: string }) => {
    const { email } = person;
    if (await findPersonByEmail(pool, email)) {
      const link = new URL("/dashboard/sign-in", config.url).href;
      return mails.send(email, { purpose: "known", link });
    }
    const { token, expiresAt } = await createLink(pool, { purpose: "verify", ...person, now: now() });
    return mails.send(email, { purpose: "verify", link: linkUrl(config.url.href, token), expiresAt });
  };
  return route({
    method: "post",
    path: "/sign-up",
    operationId: "signUp",
    summary: "Ask for an account",
    body: signUpBody,
    answers,
    async handle({ body: { name, email, password }, request }) {
      if (config.signUp === "invited") throw new AppError("sign_up_closed");
      const problem = passwordProblem(password);
      if (problem) throw validationError({ password: problem });
      const { isAllowed } = await guesses.admit(request, "sign-up", email);
      const passwordHash = await passwords.hash(password);
      if (isAllowed) mails.later(() => mail({ name, email, passwordHash }));
      return mailed;
    },
  });
}

/** `POST /forgot`: mails a link to a known address. */
export function forgotRoute({ pool, config, guesses, mails, now }: SignUpDeps) {
  const mail = async (email: string) => {
    const person = await findPersonByEmail(pool, email);
    if (!person) return;
    const link = { purpose: "reset", email, personId: person.id, now: now() } as const;
    const { token, expiresAt } = await createLink(pool, link);
    await mails.send(email, { purpose: "reset", link: linkUrl(config.url.href, token), expiresAt });
  };
  return route({
    method: "post",
    path: "/forgot",
    operationId: "forgotPassword",
    summary: "Ask for a new password",
    body: forgotBody,
    answers,
    async handle({ body: { email }, request }) {
      const { isAllowed } = await guesses.admit(request, "forgot", email);
      if (isAllowed) mails.later(() => mail(email));
      return mailed;
    },
  });
}
