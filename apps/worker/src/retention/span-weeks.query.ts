import { tryTransaction } from "@waymark/database";
import type pg from "pg";

/** A change of partitions waits so long for readers and writers, then leaves it to the next round. All spans wait behind it. */
const lockTimeoutMs = 500;

/** The weeks after the newest partition, of those that retention keeps, until two ahead. Reads the catalogue alone. */
const findMissingSql = `
  SELECT day::date::text FROM generate_series(GREATEST(date_trunc('week', $2::timestamp), (
    SELECT to_timestamp(('x' || left(replace(until::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC'
    FROM span_partition WHERE until IS NOT NULL ORDER BY until DESC LIMIT 1
  )), $1::timestamp + interval '2 weeks', '1 week') AS day`;

const ensureSql = "SELECT ensure_span_partition($1)";

const listPastSql = "SELECT name FROM span_partition WHERE until <= $1 ORDER BY until";

const dropSql = "SELECT drop_span_partition($1)";

/** Makes the partitions of spans for the weeks ahead. Until one is made, the default partition takes its spans. */
export async function ensureSpanWeeks(pool: pg.Pool, today: string, oldest: string): Promise<void> {
  const { rows } = await pool.query<{ day: string }>(findMissingSql, [today, oldest]);
  for (const { day } of rows) {
    if (!(await tryTransaction(pool, lockTimeoutMs, (client) => client.query(ensureSql, [day])))) return;
  }
}

/** Drops the partitions with spans below an id alone, as files. One in use waits for the next round. */
export async function dropSpanWeeks(pool: pg.Pool, before: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(listPastSql, [before]);
  const dropped: string[] = [];
  for (const { name } of rows) {
    if (await tryTransaction(pool, lockTimeoutMs, (client) => client.query(dropSql, [name]))) dropped.push(name);
  }
  return dropped;
}

/** The first id of the weeks that retention drops whole; spans below are in no week's partition. */
export async function readFirstWeek(pool: pg.Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ first: string }>(
    "SELECT first FROM span_partition WHERE first IS NOT NULL ORDER BY first LIMIT 1",
  );
  return rows[0]?.first;
}
