import type pg from "pg";
import type { Config } from "../config.js";
import type { AccountMails } from "../session/account-mails.js";
import type { Guesses } from "../session/guesses.js";
import type { Sessions } from "../session/viewer.js";

export interface PeopleDeps {
  pool: pg.Pool;
  config: Pick<Config, "url" | "signUp">;
  guesses: Guesses;
  mails: AccountMails;
  sessions: Sessions;
  now(): Date;
}
