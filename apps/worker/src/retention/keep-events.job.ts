import { keepVisitorDays, type Partitions, purgeEvents } from "@waymark/web-stats/analytics";
import type pg from "pg";
import type { Logger } from "pino";

interface KeepEventsDeps {
  pool: pg.Pool;
  partitions: Partitions;
  log: Logger;
  /** Months of raw events to keep besides the present one; undefined for all. */
  retentionMonths: number | undefined;
  now(): Date;
  isStopping(): boolean;
}

/**
 * Keeps the partitions of raw events and of visitors: makes those of this month and the next and of the days ahead before the
 * first event needs them, and removes months past the retention and past days of visitors. Rollups stay.
 */
export function createKeepEvents(deps: KeepEventsDeps): () => Promise<void> {
  const { pool, partitions, log, retentionMonths, now, isStopping } = deps;
  return async () => {
    await partitions.ensure([monthOf(now(), 0), monthOf(now(), 1)]);
    const days = await keepVisitorDays(pool);
    if (days.length > 0) log.info({ days }, "days of visitors dropped");
    if (retentionMonths === undefined) return;
    const purged = await purgeEvents(pool, { firstMonth: monthOf(now(), -retentionMonths), isStopping });
    if (purged.partitions.length > 0 || purged.rows > 0)
      log.info({ ...purged }, "raw events past their retention removed");
  };
}

/** The first day of the UTC month so many months from a time, `YYYY-MM-01`. */
function monthOf(time: Date, months: number): string {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1)).toISOString().slice(0, 10);
}
