import { removeBatchSql, tryTransaction } from "@waymark/database";
import type pg from "pg";
import { raiseHorizon } from "./event-horizon.query.js";

/** Dropping a partition waits so long for readers and writers, then leaves it to the next round. All new events wait behind it. */
const lockTimeoutMs = 250;

const batchRows = 5_000;

/** Months' partitions by name (function `ensure_event_partition`), from the catalogue: a row per month. */
const listPartitionsSql = `
  SELECT child.relname AS name FROM pg_inherits
  JOIN pg_class AS child ON child.oid = inhrelid
  WHERE inhparent = 'event'::regclass AND child.relname ~ '^event_\\d{6}$' AND child.relname < $1
  ORDER BY child.relname`;

/** Drops a month's partition, also for the worker's role, which owns no table. */
const dropPartitionSql = "SELECT drop_event_partition($1)";

/** Events without a month's partition, in batches, by a scan of the default partition, which holds few. */
const purgeDefaultSql = removeBatchSql(
  "event_default",
  `WHERE id < uuid_floor($1::date::timestamp AT TIME ZONE 'UTC') LIMIT ${batchRows}`,
);

/** Visits and columns of days without raw events, in batches, by ranges of their primary keys. */
const ofEarlierDays = `WHERE site_id = $1 AND day < $2 LIMIT ${batchRows}`;
const purgeVisitsSql = removeBatchSql("visit", ofEarlierDays);
const purgePartsSql = removeBatchSql("day_part", ofEarlierDays);

export interface PurgedEvents {
  readonly partitions: readonly string[];
  /** Events outside months' partitions, and visits of days without raw events. */
  readonly rows: number;
}

/**
 * Raises the horizon, and removes raw events before a month; rollups stay. It drops whole partitions without touching rows.
 * Partitions in use wait for the next call, and so does everything while an import is in the way.
 * @param firstMonth the first day of the oldest month to keep, `YYYY-MM-01`
 */
export async function purgeEvents(
  pool: pg.Pool,
  { firstMonth, isStopping = () => false }: { firstMonth: string; isStopping?: () => boolean },
): Promise<PurgedEvents> {
  if (!(await raiseHorizon(pool, firstMonth))) return { partitions: [], rows: 0 };
  const limit = `event_${firstMonth.slice(0, 4)}${firstMonth.slice(5, 7)}`;
  const { rows } = await pool.query<{ name: string }>(listPartitionsSql, [limit]);
  const partitions: string[] = [];
  for (const { name } of rows) {
    if (isStopping()) break;
    const drop = (client: pg.PoolClient) => client.query(dropPartitionSql, [name]);
    if (await tryTransaction(pool, lockTimeoutMs, drop)) partitions.push(name);
  }
  let removed = await deleteAll(pool, purgeDefaultSql, [firstMonth], isStopping);
  const sites = await pool.query<{ id: string }>("SELECT id FROM site");
  for (const { id } of sites.rows) {
    for (const sql of [purgeVisitsSql, purgePartsSql]) {
      removed += await deleteAll(pool, sql, [id, firstMonth], isStopping);
    }
  }
  return { partitions, rows: removed };
}

async function deleteAll(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[],
  isStopping: () => boolean,
): Promise<number> {
  let total = 0;
  for (let removed = batchRows; removed === batchRows && !isStopping(); total += removed) {
    const { rowCount } = await pool.query(sql, [...values]);
    removed = rowCount ?? 0;
  }
  return total;
}
