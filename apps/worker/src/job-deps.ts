import type pg from "pg";
import type { Logger } from "pino";

/** What every periodic job takes. */
export interface JobDeps {
  pool: pg.Pool;
  log: Logger;
  now(): Date;
  /** Asked between batches. */
  isStopping(): boolean;
}
