import { inTransaction, withConnection } from "@waymark/database";
import type pg from "pg";
import { lockSites } from "../recording/record-events.query.js";
import { holdHorizon, readHorizon } from "./event-retention.query.js";
import {
  beginSnapshot,
  countDay,
  type DayCount,
  type Difference,
  dropMends,
  isOutdated,
  listDays,
  lockRebuild,
  mendDay,
  unlockRebuild,
} from "./rebuild-rollups.query.js";

/** Counts without the site's lock; the next one takes the lock. */
const maxAttempts = 3;

/** Milliseconds that a transaction may be idle: a suspended process must not keep its site locked. */
const maxIdleMs = 5_000;

export class RebuildRunningError extends Error {
  override name = "RebuildRunningError";

  constructor() {
    super("Another rebuild of this site is under way. Wait until it has ended.");
  }
}

export interface RebuildOptions {
  pool: pg.Pool;
  siteId: string;
  /** First and last UTC day, `YYYY-MM-DD`; null for all. */
  from: string | null;
  to: string | null;
  /** Corrects the rollups; otherwise it only reports differences. */
  replace: boolean;
  onDifference(difference: Difference): void;
  onProgress?(progress: { done: number; days: number }): void;
  signal?: AbortSignal;
}

export interface RebuildResult {
  days: number;
  differences: number;
  /** Days left alone because their events are past their retention: their rollups are all there is. */
  skipped: number;
}

/**
 * Counts a site's figures anew over its raw events, a day at a time, and tells what the rollups say differently. A day is
 * counted in a snapshot while events go on being recorded; the site is locked only to add the differences.
 * @throws RebuildRunningError, or what the database or the signal throws; days until then stay as they were made
 */
export async function rebuildRollups(options: RebuildOptions): Promise<RebuildResult> {
  const { pool, siteId, replace, signal } = options;
  const result: RebuildResult = { days: 0, differences: 0, skipped: 0 };
  // A session in which something failed may still hold its lock and tables; they go with it.
  await withConnection(pool, async (client) => {
    if (replace && !(await lockRebuild(client, siteId))) throw new RebuildRunningError();
    await client.query(`SET idle_in_transaction_session_timeout = ${maxIdleMs}`);
    const days = await listDays(client, options);
    for (const [index, { day, events }] of days.entries()) {
      signal?.throwIfAborted();
      const differences = events === 0 ? null : await rebuildDay(client, { siteId, day, events, replace });
      if (differences) {
        result.days++;
        result.differences += differences.length;
        for (const difference of differences) options.onDifference(difference);
      } else result.skipped++;
      options.onProgress?.({ done: index + 1, days: days.length });
    }
    await client.query("RESET idle_in_transaction_session_timeout");
    await dropMends(client);
    if (replace) await unlockRebuild(client, siteId);
  });
  return result;
}

interface Day {
  siteId: string;
  day: string;
  /** How many the day has at least, unless retention removed some. */
  events: number;
  replace: boolean;
}

/** @returns the figures that differed; null for a day whose events are not all there any more */
async function rebuildDay(client: pg.ClientBase, day: Day): Promise<Difference[] | null> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const count = await inTransaction(client, async () => {
      await beginSnapshot(client);
      return countEvents(client, day);
    });
    if (!count) return null;
    if (!day.replace || count.differences.length === 0) return count.differences;
    const outcome = await inTransaction(client, async () => {
      // The horizon first, as imports do: two locks in one order.
      const horizon = await holdHorizon(client);
      await lockSites(client, [day.siteId]);
      if (isBefore(day.day, horizon)) return "removed";
      if (await isOutdated(client, day, count)) return "outdated";
      await mendDay(client, day);
      return "mended";
    });
    if (outcome === "removed") return null;
    if (outcome === "mended") return count.differences;
  }
  return inTransaction(client, async () => {
    await holdHorizon(client);
    await lockSites(client, [day.siteId]);
    const count = await countEvents(client, day);
    if (!count) return null;
    if (count.differences.length > 0) await mendDay(client, day);
    return count.differences;
  });
}

/** Counts a day in the transaction that the caller has begun; null where its events are not all there any more. */
async function countEvents(client: pg.ClientBase, day: Day): Promise<DayCount | null> {
  if (isBefore(day.day, await readHorizon(client))) return null;
  const { replace } = day;
  const quick = await countDay(client, day, { isWholeSite: false, replace });
  if (quick.events >= day.events) return quick;
  const count = await countDay(client, day, { isWholeSite: true, replace });
  return count.events === 0 ? null : count;
}

function isBefore(day: string, horizon: string | null): boolean {
  return horizon !== null && day < horizon;
}
