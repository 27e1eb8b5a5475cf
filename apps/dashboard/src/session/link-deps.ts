import type { Passwords } from "@waymark/identity";
import type pg from "pg";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";

export interface LinkDeps {
  pool: pg.Pool;
  config: Pick<Config, "url" | "slots">;
  passwords: Passwords;
  guesses: Guesses;
  now(): Date;
}
