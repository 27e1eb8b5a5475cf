import type { Passwords } from "@waymark/accounts/identity";
import type pg from "pg";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";
import type { Sessions } from "./viewer.js";

export interface SettingsDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  passwords: Passwords;
  guesses: Guesses;
  sessions: Sessions;
  now(): Date;
}
