import { Buffer } from "node:buffer";
import { withConnection } from "@waymark/database";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import type { Days } from "../range.js";
import { versionSql } from "../statistics.query.js";
import type { PartNeeds } from "./day-part.js";
import type { SiteDay } from "./day-rows.query.js";
import type { PartBlocks, ReadBlocks } from "./part-blocks.js";

/** A stored part of a day in its version. */
export interface StoredKey {
  readonly day: string;
  readonly version: string;
  /** From 0. */
  readonly part: number;
}

interface StoredPart extends StoredKey, ReadBlocks {}

/** A part of a day with events; `part` is null, and the only one, where the present version is not stored. */
export interface StoredSize {
  readonly day: string;
  readonly version: string;
  readonly part: number | null;
  /** Of the blocks that are needed. */
  readonly bytes: number;
}

/** A range of `daily_stat_pkey`, and one of `day_part_pkey` for each day; sizes are known without the bytes. */
const readSizesSql = ({ times, details }: PartNeeds) => `
  SELECT present.day::text, present.version, part, coalesce(octet_length(visits) + octet_length(pages)
    ${times ? "+ octet_length(times)" : ""} ${details ? "+ octet_length(details)" : ""}, 0) AS bytes
  FROM (
    SELECT day, ${versionSql} AS version FROM daily_stat
    WHERE site_id = $1 AND dimension = 'total' AND value = '' AND day BETWEEN $2 AND $3
  ) AS present
  LEFT JOIN day_part ON day_part.site_id = $1 AND day_part.day = present.day AND day_part.version = present.version
  ORDER BY present.day, part`;

/** Reads which days have events, and the sizes of their stored parts, in order. */
export async function readStoredSizes(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
  needs: PartNeeds,
): Promise<StoredSize[]> {
  const { rows } = await pool.query<StoredSize>(readSizesSql(needs), [siteId, first, last]);
  return rows;
}

/**
 * Stored parts, each by `day_part_pkey`; blocks that nobody needs stay where they are. COPY sends bytes as they are, where a
 * statement would send text of twice the length.
 */
const readPartsSql = ({ times, details }: PartNeeds, siteId: string, keys: readonly string[]) => `
  COPY (
    SELECT day::text, part::text, version, visits, pages, ${times ? "times" : "NULL"}, ${details ? "details" : "NULL"}
    FROM (VALUES ${keys.join(", ")}) AS wanted (day, part, version) JOIN day_part USING (day, part, version)
    WHERE site_id = ${pg.escapeLiteral(siteId)}
    ORDER BY day, part
  ) TO STDOUT (FORMAT binary)`;

/** Reads stored parts, in order. Those of another version are left out. */
export async function readStoredParts(
  database: pg.Pool | pg.ClientBase,
  { siteId, wanted, needs }: { siteId: string; wanted: readonly StoredKey[]; needs: PartNeeds },
): Promise<StoredPart[]> {
  if (wanted.length === 0) return [];
  const keys = wanted.map(({ day, part, version }) => `('${day}'::date, ${part}, ${pg.escapeLiteral(version)})`);
  const read = (client: pg.ClientBase) => copy(client, readPartsSql(needs, siteId, keys));
  const sent = await (database instanceof pg.Pool ? withConnection(database, read) : read(database));
  return readCopiedRows(sent).map(([day, part, version, visits, pages, times = null, details = null]) => {
    if (!day || !version || !visits || !pages) throw new Error("A stored part lacks a column");
    return { day: String(day), part: Number(part), version: String(version), visits, pages, times, details };
  });
}

/** Reads all that COPY sends. */
async function copy(client: pg.ClientBase, sql: string): Promise<Buffer> {
  const query: ReturnType<typeof copyTo> & { callback?: () => void } = copyTo(sql);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(query)) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } finally {
    // The driver's timeout ends with this call, which a stream never makes.
    query.callback?.();
  }
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
      SELECT FROM day_part WHERE (site_id, day, part) = (daily_stat.site_id, daily_stat.day, 0) AND version = (${versionSql})
    )
  ORDER BY day`;

export async function findOutdatedDays(
  pool: pg.Pool,
  { siteId, before }: { siteId: string; before: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(findOutdatedSql, [siteId, before]);
  return rows.map(({ day }) => day);
}
