import type pg from "pg";
import type { Logger } from "pino";

export interface JobDeps {
  pool: pg.Pool;
  log: Logger;
  now(): Date;
  isStopping(): boolean;
}
