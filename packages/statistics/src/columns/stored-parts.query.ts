import type { Buffer } from "node:buffer";
import type pg from "pg";
import type { PartNeeds } from "./day-part.js";
import { type SiteDay, versionSql } from "./day-rows.query.js";
import type { PartBlocks, ReadBlocks } from "./part-blocks.js";

/** A stored part of a day. */
export interface StoredPart extends ReadBlocks {
  readonly day: string;
  readonly version: string;
}

/** Stored parts of days, by ranges of `day_part_pkey`; blocks that nobody needs stay where they are. */
const readPartsSql = ({ times, details }: PartNeeds) => `
  SELECT day::text, version, visits, pages, ${times ? "times" : "NULL::bytea"}, ${details ? "details" : "NULL::bytea"}
  FROM day_part WHERE site_id = $1 AND day = ANY($2::date[]) ORDER BY day, part`;

type StoredRow = [
  day: string,
  version: string,
  visits: Buffer,
  pages: Buffer,
  times: Buffer | null,
  details: Buffer | null,
];

/** Reads the stored parts of days, in order. */
export async function readStoredParts(
  pool: pg.Pool,
  { siteId, days, needs }: { siteId: string; days: readonly string[]; needs: PartNeeds },
): Promise<StoredPart[]> {
  const text = readPartsSql(needs);
  const { rows } = await pool.query<StoredRow>({ text, values: [siteId, days], rowMode: "array" });
  return rows.map(([day, version, visits, pages, times, details]) => ({ day, version, visits, pages, times, details }));
}

const removePartsSql = "DELETE FROM day_part WHERE site_id = $1 AND day = $2";
const storePartSql = `
  INSERT INTO day_part (site_id, day, part, version, visits, pages, times, details)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

export async function removeParts(client: pg.ClientBase, { siteId, day }: SiteDay): Promise<void> {
  await client.query(removePartsSql, [siteId, day]);
}

export async function storePart(
  client: pg.ClientBase,
  { siteId, day, part, version, blocks }: SiteDay & { part: number; version: string; blocks: PartBlocks },
): Promise<void> {
  const { visits, pages, times, details } = blocks;
  await client.query(storePartSql, [siteId, day, part, version, visits, pages, times, details]);
}

/** Two numbers of a transaction's lock on a stored day. */
const lockDaySql = "SELECT pg_try_advisory_xact_lock(hashtext('day_part'), hashtext($1 || $2)) AS locked";

/** @returns false while another transaction stores the day */
export async function tryLockDay(client: pg.ClientBase, { siteId, day }: SiteDay): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(lockDaySql, [siteId, day]);
  return rows[0]?.locked ?? false;
}

/** Days with all their events whose stored parts are missing or outdated: a range of `daily_stat_pkey`, a probe per day. */
const findOutdatedSql = `
  SELECT daily_stat.day::text FROM daily_stat CROSS JOIN event_horizon AS horizon
  WHERE site_id = $1 AND dimension = 'total' AND value = '' AND daily_stat.day < $2
    AND daily_stat.day >= greatest(horizon.day, horizon.visits_day, '-infinity')
    AND NOT EXISTS (
      SELECT FROM day_part WHERE (site_id, day, part) = (daily_stat.site_id, daily_stat.day, 0) AND version = ${versionSql}
    )
  ORDER BY day`;

export async function findOutdatedDays(
  pool: pg.Pool,
  { siteId, before }: { siteId: string; before: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(findOutdatedSql, [siteId, before]);
  return rows.map(({ day }) => day);
}
