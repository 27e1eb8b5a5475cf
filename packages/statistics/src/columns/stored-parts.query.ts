import type { Buffer } from "node:buffer";
import { buffer } from "node:stream/consumers";
import { withConnection } from "@waymark/database";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import type { PartNeeds } from "./day-part.js";
import { type SiteDay, versionSql } from "./day-rows.query.js";
import type { PartBlocks, ReadBlocks } from "./part-blocks.js";

/** A stored part of a day. */
export interface StoredPart extends ReadBlocks {
  readonly day: string;
  readonly version: string;
}

/**
 * Stored parts of days, by ranges of `day_part_pkey`; blocks that nobody needs stay where they are. COPY sends bytes as they are, where
 * a statement would send text of twice the length.
 */
const readPartsSql = ({ times, details }: PartNeeds, siteId: string, days: readonly string[]) => `
  COPY (
    SELECT day::text, version, visits, pages, ${times ? "times" : "NULL"}, ${details ? "details" : "NULL"} FROM day_part
    WHERE site_id = ${pg.escapeLiteral(siteId)} AND day IN (${days.map(pg.escapeLiteral).join(", ")}) ORDER BY day, part
  ) TO STDOUT (FORMAT binary)`;

/** Reads the stored parts of days, in order. @param days one at least */
export async function readStoredParts(
  pool: pg.Pool,
  { siteId, days, needs }: { siteId: string; days: readonly string[]; needs: PartNeeds },
): Promise<StoredPart[]> {
  const sent = await withConnection(pool, (client) => buffer(client.query(copyTo(readPartsSql(needs, siteId, days)))));
  return readCopiedRows(sent).map(([day, version, visits, pages, times = null, details = null]) => {
    if (!day || !version || !visits || !pages) throw new Error("A stored part lacks a column");
    return { day: day.toString(), version: version.toString(), visits, pages, times, details };
  });
}

/** Bytes of the signature, the flags and the length of an extension, before the rows (Postgres documentation, COPY). */
const copyHeaderBytes = 19;

/** The values of rows in COPY's binary form: the number of columns in 16 bits, before each value its length in 32, -1 for NULL. */
function readCopiedRows(sent: Buffer): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = copyHeaderBytes;
  for (let columns = sent.readInt16BE(at); columns >= 0; columns = sent.readInt16BE(at)) {
    at += 2;
    const row: (Buffer | null)[] = [];
    for (let column = 0; column < columns; column++) {
      const length = sent.readInt32BE(at);
      at += 4;
      row.push(length < 0 ? null : sent.subarray(at, at + length));
      at += Math.max(0, length);
    }
    rows.push(row);
  }
  return rows;
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
