import { type Queryable, removeBatchSql, tryTransaction } from "@waymark/database";
import type pg from "pg";

/** Imports share this lock, each for a batch; the worker takes it alone to raise the horizon. */
const key = "hashtextextended('waymark event horizon', 0)";

/** The worker waits so long for the imports' batches. */
const horizonTimeoutMs = 2_000;

/** The first UTC day from which no raw event was removed; null before the first removal. Reads the only row. */
const readSql = "SELECT day::text FROM event_horizon";

/** The later day stays, so the horizon never goes back. Writes the only row. */
const raiseSql = "UPDATE event_horizon SET day = GREATEST(day, $1::date)";

export async function readHorizon(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ day: string | null }>(readSql);
  return rows[0]?.day ?? null;
}

/** Reads the horizon and holds it until the transaction ends. Only the worker's retention waits for it. */
export async function holdHorizon(client: pg.ClientBase): Promise<string | null> {
  await client.query(`SELECT pg_advisory_xact_lock_shared(${key})`);
  return readHorizon(client);
}

/** Waits for imports that have read the earlier one; false if they were in the way for two seconds. */
function raiseHorizon(pool: pg.Pool, day: string): Promise<boolean> {
  return tryTransaction(pool, horizonTimeoutMs, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock(${key})`);
    await client.query(raiseSql, [day]);
  });
}

/** A change of partitions waits so long for readers and writers, then leaves it to the next round. All new events wait behind it. */
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

/** Imports refuse earlier lines, so nobody asks for these again. Ids begin with their time. By a range of the primary key. */
const purgeLinesSql = removeBatchSql(
  "machine_line",
  `WHERE site_id = $1 AND id < uuid_floor($2::date::timestamp AT TIME ZONE 'UTC') LIMIT ${batchRows}`,
);

interface PurgedEvents {
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
    for (const sql of [purgeVisitsSql, purgePartsSql, purgeLinesSql]) {
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

/** By the database's clock: today and three days ahead have a partition, and today and three days back are kept. */
const daysAhead = 3;
const keptDays = 3;

const readDaysSql = `
  SELECT (today - ${keptDays})::text AS "firstKept", ARRAY(SELECT (today + n)::text FROM generate_series(0, ${daysAhead}) AS n) AS ahead
  FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock`;

const ensureSql = "SELECT ensure_visitor_partition($1)";

/** The partitions of days before one. Reads the catalogue alone. */
const listPastSql = "SELECT name FROM visitor_partition WHERE until <= $1 ORDER BY until";
const dropSql = "SELECT drop_visitor_partition($1)";

/** Whether the default partition has rows, by its first page. */
const hasOthersSql = "SELECT EXISTS (SELECT FROM daily_visitor_default) AS has_others";
const emptySql = "SELECT empty_old_visitors($1)";

/**
 * Makes the partitions of visitors for the days ahead, and drops those of past days as files: no row is read. Live events come on
 * their day or just after it; an import that comes later makes a day's rows anew (`refillVisitors`). What is in use waits for the
 * next round.
 * @returns the names of the dropped partitions
 */
export async function keepVisitorDays(pool: pg.Pool): Promise<string[]> {
  const attempt = (sql: string, value: string) =>
    tryTransaction(pool, lockTimeoutMs, (client) => client.query(sql, [value]));
  const { rows: clock } = await pool.query<{ firstKept: string; ahead: string[] }>(readDaysSql);
  const { firstKept, ahead } = clock[0] ?? { firstKept: "-infinity", ahead: [] };
  for (const day of ahead) if (!(await attempt(ensureSql, day))) break;
  const { rows } = await pool.query<{ name: string }>(listPastSql, [firstKept]);
  const dropped: string[] = [];
  for (const { name } of rows) if (await attempt(dropSql, name)) dropped.push(name);
  const { rows: others } = await pool.query<{ has_others: boolean }>(hasOthersSql);
  if (others[0]?.has_others) await attempt(emptySql, firstKept);
  return dropped;
}
