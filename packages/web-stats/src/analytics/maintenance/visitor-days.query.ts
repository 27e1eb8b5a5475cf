import { tryTransaction } from "@waymark/database";
import type pg from "pg";

/** A change of partitions waits so long for writers, then leaves it to the next round. All new events wait behind it. */
const lockTimeoutMs = 250;

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
