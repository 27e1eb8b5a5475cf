import { Buffer } from "node:buffer";
import type pg from "pg";
import type { Days } from "../range.js";
import { readEventDays, versionSql } from "../statistics.query.js";
import type { SiteDay } from "./collect-part.js";
import { readDay, readStoredParts, readStoredSizes, type StoredKey } from "./day-columns.js";
import { blockNames, writePart } from "./part-blocks.js";

/** Days with all their events whose stored parts are missing or outdated: a range of `daily_stat_pkey`, a probe per day. */
const findOutdatedSql = `
  SELECT daily_stat.day::text FROM daily_stat CROSS JOIN event_horizon AS horizon
  WHERE site_id = $1 AND dimension = 'total' AND value = '' AND daily_stat.day < $2
    AND daily_stat.day >= greatest(horizon.day, horizon.visits_day, '-infinity')
    AND NOT EXISTS (
      SELECT FROM day_part WHERE (site_id, day, part) = (daily_stat.site_id, daily_stat.day, 0) AND version = (${versionSql})
    )
  ORDER BY day`;

/** Two numbers of a transaction's lock on a stored day; false while another transaction stores it. */
const lockDaySql = "SELECT pg_try_advisory_xact_lock(hashtext('day_part'), hashtext($1 || $2)) AS locked";

const removePartsSql = "DELETE FROM day_part WHERE site_id = $1 AND day = $2";
const storePartSql = `
  INSERT INTO day_part (site_id, day, part, version, visits, pages, times, details)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

/** SQLSTATE of a row that another transaction changed (Postgres documentation, appendix A). */
const serializationFailure = "40001";

/**
 * Stores the finished days whose parts are missing or of former events, so that filters read them as columns. Days that stay out
 * are made from events by their readers. Another process may do the same: a day is stored once. Returns the stored days.
 */
export async function storeDays(
  pool: pg.Pool,
  {
    siteIds,
    before,
    onDay,
    isStopping = () => false,
  }: {
    siteIds: readonly string[];
    before: string;
    onDay?: (day: SiteDay) => void;
    isStopping?: () => boolean;
  },
): Promise<number> {
  let stored = 0;
  for (const siteId of siteIds) {
    const { rows } = await pool.query<{ day: string }>(findOutdatedSql, [siteId, before]);
    for (const { day } of rows) {
      if (isStopping()) return stored;
      if (await storeDay(pool, { siteId, day })) stored++;
      onDay?.({ siteId, day });
    }
  }
  return stored;
}

async function storeDay(pool: pg.Pool, { siteId, day }: SiteDay): Promise<boolean> {
  try {
    return await readDay(pool, { siteId, day }, { details: true }, async (parts, client, version) => {
      const { rows } = await client.query<{ locked: boolean }>(lockDaySql, [siteId, day]);
      if (!rows[0]?.locked) return false;
      await client.query(removePartsSql, [siteId, day]);
      let part = 0;
      for await (const made of parts) {
        const blocks = await writePart(made);
        const values = [siteId, day, part++, version, ...blockNames.map((name) => blocks[name])];
        await client.query(storePartSql, values);
      }
      return true;
    });
  } catch (error) {
    if ((error as { code?: unknown }).code === serializationFailure) return false;
    throw error;
  }
}

const needs = { times: true, details: true };

/** A stored day of the present events that is not as it would be made from them. */
interface WrongDay {
  readonly day: string;
  /** Parts that are missing, too many or different. */
  readonly parts: number;
}

/** Compares a site's stored days with days made anew, those that have lost events excepted. @param remove drops the wrong ones */
export async function findWrongDays(
  pool: pg.Pool,
  { siteId, days, remove, signal }: { siteId: string; days: Days; remove: boolean; signal?: AbortSignal },
): Promise<WrongDay[]> {
  const stored = new Map<string, StoredKey[]>();
  for (const { day, version, part } of await readStoredSizes(pool, { siteId, ...days }, needs)) {
    if (part !== null) stored.set(day, [...(stored.get(day) ?? []), { day, version, part }]);
  }
  const [first, last] = [[...stored.keys()][0], [...stored.keys()].at(-1)];
  if (first === undefined || last === undefined) return [];
  const { from, to } = (await readEventDays(pool, { siteId, first, last })) ?? { from: first, to: last };
  const wrong: WrongDay[] = [];
  for (const [day, keys] of stored) {
    signal?.throwIfAborted();
    if (from === null || to === null || day < from || day > to) continue;
    const parts = await countWrong(pool, siteId, keys);
    if (parts === 0) continue;
    wrong.push({ day, parts });
    if (remove) await pool.query(removePartsSql, [siteId, day]);
  }
  return wrong;
}

/** 0 where the day has changed since the keys were read. */
function countWrong(pool: pg.Pool, siteId: string, keys: readonly StoredKey[]): Promise<number> {
  const { day = "", version } = keys[0] ?? {};
  return readDay(pool, { siteId, day }, needs, async (made, client, present) => {
    if (present !== version) return 0;
    let [same, count] = [0, 0];
    for await (const part of made) {
      const wanted = [{ day, version: present, part: count++ }];
      const [stored] = await readStoredParts(client, { siteId, wanted, needs });
      const blocks = await writePart(part);
      if (blockNames.every((name) => blocks[name].equals(stored?.[name] ?? Buffer.alloc(0)))) same++;
    }
    return Math.max(count, keys.length) - same;
  });
}
