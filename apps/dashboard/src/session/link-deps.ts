import type { Passwords } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";
import type { OtherCells } from "./other-cells.js";
import type { Sessions } from "./viewer.js";

/** Returns the error of a link that another cell may know. */
export function ignoreUnknown(error: unknown): AppError {
  if (error instanceof AppError && error.code === "link_expired") return error;
  throw error;
}

export interface LinkDeps {
  pool: pg.Pool;
  config: Pick<Config, "url" | "slots">;
  passwords: Passwords;
  guesses: Guesses;
  otherCells: OtherCells;
  sessions: Sessions;
  now(): Date;
}
