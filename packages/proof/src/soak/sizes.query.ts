import type pg from "pg";

const tables = [
  "trace",
  "span",
  "idempotency_key",
  "alert",
  "delivery",
  "event",
  "visit",
  "daily_visitor",
  "daily_stat",
];

// Sizes from the file system, partitions together. Counting reads each table once, so callers ask seldom.
const sizesSql = `SELECT c.relname AS name, sum(pg_table_size(part.oid))::float8 AS table_bytes,
    sum(pg_indexes_size(part.oid))::float8 AS index_bytes,
    (xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', c.relname), false, true, '')))[1]::text::float8 AS rows
  FROM pg_class c
  JOIN pg_class part ON part.oid = c.oid OR part.oid IN (SELECT relid FROM pg_partition_tree(c.oid) WHERE isleaf)
  WHERE c.relname = ANY($1) AND c.relnamespace = 'public'::regnamespace
  GROUP BY c.relname`;

/** Bytes per row of each table, and of its indexes, as measures of a soak. */
export async function measureSizes(pool: pg.Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; table_bytes: number; index_bytes: number; rows: number }>(
    sizesSql,
    [tables],
  );
  const sizes = new Map<string, number>();
  for (const { name, table_bytes, index_bytes, rows: count } of rows) {
    if (count === 0) continue;
    sizes.set(`${name}, bytes per row`, table_bytes / count);
    sizes.set(`${name}, index bytes per row`, index_bytes / count);
  }
  return sizes;
}
