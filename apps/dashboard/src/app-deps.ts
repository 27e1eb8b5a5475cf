import type { Passwords } from "@waymark/accounts/identity";
import type { KeyDirectory } from "@waymark/auth";
import type { ReadinessChecks, Siblings } from "@waymark/service";
import type { Limiter } from "@waymark/service/limits";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Payments } from "./billing/payments.js";
import type { Config } from "./config.js";
import type { Pages } from "./pages/pages.js";
import type { AccountMails } from "./session/account-mails.js";
import type { Guesses } from "./session/guesses.js";
import type { OtherCells } from "./session/other-cells.js";
import type { Sessions } from "./session/viewer.js";
import type { ProofNetwork } from "./sites/find-proof.js";

export interface AppDeps {
  config: Config;
  pool: pg.Pool;
  sessions: Sessions;
  links: Pick<KeyDirectory, "find">;
  passwords: Passwords;
  guesses: Guesses;
  mails: AccountMails;
  otherCells: OtherCells;
  proofs: { limiter: Pick<Limiter, "spend">; network: ProofNetwork };
  /** Undefined without Stripe's settings. */
  payments: Payments | undefined;
  pages: Pages;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  siblings?: Siblings | undefined;
  requestsPerAccount?: number;
  now(): Date;
}
