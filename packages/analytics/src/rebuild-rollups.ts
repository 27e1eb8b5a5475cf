import { inTransaction } from "@waymark/database";
import type pg from "pg";
import { type Difference, listDays, rebuildDay } from "./rebuild-rollups.query.js";
import { lockSites } from "./record-events.query.js";

export interface RebuildOptions {
  pool: pg.Pool;
  siteId: string;
  /** First and last UTC day, `YYYY-MM-DD`; null for all there is. */
  from: string | null;
  to: string | null;
  /** Puts the counted figures in place of those that differ. */
  replace: boolean;
  onDifference(difference: Difference): void;
  /** Told after each day. */
  onProgress?(progress: { done: number; days: number }): void;
  signal?: AbortSignal;
}

/** What a rebuild has done. */
export interface RebuildResult {
  /** Days compared. */
  days: number;
  /** Figures that differed. */
  differences: number;
  /** Days left alone because their events are past their retention: their rollups are all there is. */
  skipped: number;
}

/**
 * Counts a site's figures anew over its raw events, a day at a time, and tells what the rollups say differently. The site's
 * writers wait while a day is compared.
 * @throws what the database or the signal throws; days until then stay as they were made
 */
export async function rebuildRollups(options: RebuildOptions): Promise<RebuildResult> {
  const { pool, siteId, replace, signal } = options;
  const days = await listDays(pool, options);
  const result: RebuildResult = { days: 0, differences: 0, skipped: 0 };
  const client = await pool.connect();
  try {
    for (const [index, { day, hasEvents }] of days.entries()) {
      signal?.throwIfAborted();
      if (hasEvents) {
        const differences = await inTransaction(client, async () => {
          await lockSites(client, [siteId]);
          return rebuildDay(client, { siteId, day }, { replace });
        });
        result.days++;
        result.differences += differences.length;
        for (const difference of differences) options.onDifference(difference);
      } else result.skipped++;
      options.onProgress?.({ done: index + 1, days: days.length });
    }
  } finally {
    client.release();
  }
  return result;
}
