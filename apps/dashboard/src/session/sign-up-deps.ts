import type { Passwords } from "@waymark/identity";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import type { AccountMails } from "./account-mails.js";
import type { Guesses } from "./guesses.js";
import type { MailedAnswer } from "./session.schema.js";

export interface SignUpDeps {
  pool: pg.Pool;
  config: Pick<Config, "url" | "signUp">;
  passwords: Passwords;
  guesses: Guesses;
  mails: AccountMails;
  now(): Date;
}

/** The answer to any address, known or not. */
export const mailed = { status: 202, body: { isMailed: true } satisfies MailedAnswer };
export const mailedAnswers = { 202: { description: "A mail goes out", schema: z.custom<MailedAnswer>() } };
