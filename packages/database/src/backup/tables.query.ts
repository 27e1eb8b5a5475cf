import type pg from "pg";

export interface Table {
  table: string;
  columns: readonly string[];
}

/** Tables with their columns, and the tables that each refers to. Partitions belong to their table. Reads the catalogue alone. */
const findTablesSql = `
  SELECT c.relname AS table,
    (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
     WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
    (SELECT COALESCE(array_agg(parent.relname::text), '{}') FROM pg_constraint
     JOIN pg_class parent ON parent.oid = confrelid WHERE conrelid = c.oid AND contype = 'f') AS parents
  FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> ALL ($1)
  ORDER BY c.relname`;

/** A restore makes the migrations' rows and the record of backups itself. A copy of the salts of visitor hashes, or of visits, would outlive its 48 hours. */
const leftOut = ["_prisma_migrations", "backup_record", "visitor_salt", "trace_visit"];

export async function findTables(client: pg.ClientBase): Promise<readonly Table[]> {
  const { rows } = await client.query<Table & { parents: readonly string[] }>(findTablesSql, [leftOut]);
  const sorted = new Map<string, Table>();
  const add = ({ table, columns, parents }: (typeof rows)[number]) => {
    if (sorted.has(table)) return;
    for (const parent of rows) if (parents.includes(parent.table) && parent.table !== table) add(parent);
    sorted.set(table, { table, columns });
  };
  rows.forEach(add);
  return [...sorted.values()];
}

/** The sequences that have given values, with the last one. Reads each sequence. */
export async function findSequences(client: pg.ClientBase): Promise<readonly { name: string; value: string }[]> {
  const { rows } = await client.query<{ name: string; value: string }>(
    `SELECT sequencename AS name, last_value::text AS value FROM pg_sequences
     WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY 1`,
  );
  return rows;
}

interface Partitions {
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
