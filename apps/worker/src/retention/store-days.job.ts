import { storeDays } from "@waymark/web-stats/statistics";
import type pg from "pg";
import type { Logger } from "pino";

interface StoreDaysDeps {
  pool: pg.Pool;
  log: Logger;
  now(): Date;
  isStopping(): boolean;
}

/** Stores the finished days of every site whose columns are missing or of former events. */
export function createStoreDays({ pool, log, now, isStopping }: StoreDaysDeps): () => Promise<void> {
  return async () => {
    const { rows } = await pool.query<{ id: string }>("SELECT id FROM site ORDER BY id");
    const siteIds = rows.map(({ id }) => id);
    const days = await storeDays(pool, { siteIds, before: now().toISOString().slice(0, 10), isStopping });
    if (days > 0) log.info({ days }, "days stored as columns");
  };
}
