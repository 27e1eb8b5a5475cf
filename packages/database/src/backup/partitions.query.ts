import type pg from "pg";

export interface Partitions {
  /** Of `event`, as `2026-11`. */
  months: readonly string[];
  /** Of `span`, the Mondays of weeks, as `2026-11-16`. */
  weeks: readonly string[];
}

const findPartitionsSql = `
  SELECT
    COALESCE(array_agg(substr(c.relname, 7, 4) || '-' || substr(c.relname, 11) ORDER BY c.relname)
      FILTER (WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_[0-9]{6}$'), '{}') AS months,
    COALESCE(array_agg(to_date(substr(c.relname, 6), 'YYYYMMDD')::text ORDER BY c.relname)
      FILTER (WHERE i.inhparent = 'span'::regclass AND c.relname ~ '^span_[0-9]{8}$'), '{}') AS weeks
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid`;

export async function findPartitions(client: pg.ClientBase): Promise<Partitions> {
  const { rows } = await client.query<Partitions>(findPartitionsSql);
  return rows[0] ?? { months: [], weeks: [] };
}

export async function ensurePartitions(client: pg.ClientBase, { months, weeks }: Partitions): Promise<void> {
  await client.query(
    "SELECT ensure_event_partition((month || '-01')::date) FROM unnest($1::text[]) AS months (month)",
    [months],
  );
  // A backup of a release before weeks goes into tables without the function.
  if (weeks.length > 0)
    await client.query("SELECT ensure_span_partition(week::date) FROM unnest($1::text[]) AS weeks (week)", [weeks]);
}
