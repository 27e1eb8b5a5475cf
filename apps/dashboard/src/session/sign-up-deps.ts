import type { Passwords } from "@waymark/accounts/identity";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";
import type { MailLinkDeps } from "./mail-link.js";
import type { OtherCells } from "./other-cells.js";
import type { MailedAnswer } from "./session.schema.js";

export interface SignUpDeps extends MailLinkDeps {
  config: Pick<Config, "url" | "signUp">;
  passwords: Passwords;
  guesses: Guesses;
  otherCells: OtherCells;
}

/** The answer to any address, known or not. */
export const mailed = { status: 202, body: { isMailed: true } satisfies MailedAnswer };
