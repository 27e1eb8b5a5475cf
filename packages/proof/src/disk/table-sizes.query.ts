import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type pg from "pg";

/** Bytes for each row of a table, its partitions together. */
export interface TableSize {
  readonly table: string;
  readonly rows: number;
  readonly heap: number;
  readonly toast: number;
  readonly indexes: Readonly<Record<string, number>>;
  readonly total: number;
  /** Of the rows written once more into an empty table with the same indexes. */
  readonly wal: number;
  /** Of rows, TOAST and indexes on a file system that compresses. */
  readonly compressed?: number;
}

// Sizes from the file system, and the catalogue for the leaves of a partitioned table.
const partsSql = `
  WITH leaf AS (
    SELECT relid FROM pg_partition_tree($1::regclass) WHERE isleaf UNION SELECT $1::regclass
  )
  SELECT c.oid::regclass::text AS name, pg_relation_size(c.oid)::float8 AS heap,
    CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE pg_total_relation_size(c.reltoastrelid) END::float8 AS toast,
    COALESCE((SELECT json_object_agg(i.indexrelid::regclass, pg_relation_size(i.indexrelid)) FROM pg_index i
      WHERE i.indrelid = c.oid), '{}')::text AS indexes
  FROM leaf JOIN pg_class c ON c.oid = leaf.relid WHERE c.relkind = 'r'`;

interface PartSize {
  name: string;
  heap: number;
  toast: number;
  indexes: string;
}

/** Files of tables with their TOAST and indexes, below the data folder. */
const filesSql = `
  WITH heap AS (
    SELECT oid, reltoastrelid FROM pg_class WHERE oid::regclass::text = ANY ($1)
  ), tables AS (
    SELECT oid FROM heap UNION SELECT reltoastrelid FROM heap WHERE reltoastrelid <> 0
  )
  SELECT pg_relation_filepath(oid) AS path FROM (
    SELECT oid FROM tables UNION SELECT indexrelid FROM pg_index JOIN tables ON tables.oid = indrelid
  ) AS files WHERE pg_relation_size(oid) > 0`;

/** Measures those tables that this version has, after a vacuum. Reads each one whole. */
export async function measureTables(pool: pg.Pool, tables: readonly string[]): Promise<TableSize[]> {
  const sizes: TableSize[] = [];
  const folder = await readFolder(pool);
  const compresses = await isBtrfs(folder);
  const { rows: present } = await pool.query<{ name: string }>(
    "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL",
    [tables],
  );
  for (const { name: table } of present) {
    await pool.query(`VACUUM ANALYZE ${table}`);
    const { rows: counted } = await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
    const rows = counted[0]?.n ?? 0;
    if (rows === 0) continue;
    const { rows: parts } = await pool.query<PartSize>(partsSql, [table]);
    const full = parts.filter(({ heap }) => heap > 0);
    const names = full.map(({ name }) => name);
    const each = (bytes: number) => Math.round(bytes / rows);
    const indexes = new Map<string, number>();
    for (const part of full) {
      for (const [name, bytes] of Object.entries(JSON.parse(part.indexes) as Record<string, number>)) {
        const own = name.replace(part.name, table);
        indexes.set(own, (indexes.get(own) ?? 0) + bytes);
      }
    }
    const sum = (list: Iterable<number>) => [...list].reduce((a, b) => a + b, 0);
    const [heap, toast] = [sum(full.map((part) => part.heap)), sum(full.map((part) => part.toast))];
    sizes.push({
      table,
      rows,
      heap: each(heap),
      toast: each(toast),
      indexes: Object.fromEntries([...indexes].map(([name, bytes]) => [name, each(bytes)])),
      total: each(heap + toast + sum(indexes.values())),
      wal: each(await measureCopy(pool, names)),
      ...(compresses && { compressed: each(await measureCompressed(pool, names, folder)) }),
    });
  }
  return sizes;
}

async function readFolder(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query("SHOW data_directory");
  return rows[0].data_directory;
}

async function measureCompressed(pool: pg.Pool, parts: readonly string[], folder: string): Promise<number> {
  await pool.query("CHECKPOINT");
  const { rows } = await pool.query<{ path: string }>(filesSql, [parts]);
  return readCompressedBytes(rows.map(({ path }) => join(folder, path)));
}

async function measureCopy(pool: pg.Pool, parts: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const part of parts) {
    await pool.query(`CREATE TABLE disk_copy (LIKE ${part} INCLUDING ALL)`);
    const before = await readWal(pool);
    await pool.query(`INSERT INTO disk_copy SELECT * FROM ${part}`);
    bytes += (await readWal(pool)) - before;
    await pool.query("DROP TABLE disk_copy");
  }
  return bytes;
}

/** The position in the WAL, in bytes. */
export async function readWal(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS position");
  return rows[0].position;
}

export async function readVersion(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query(
    "SELECT current_setting('server_version') || ', TOAST by ' || current_setting('default_toast_compression') AS version",
  );
  return rows[0].version;
}

/** Whether this version drops past days of visitors. */
export async function hasVisitorDays(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query("SELECT to_regclass('visitor_partition') IS NOT NULL AS has");
  return rows[0].has;
}

const run = promisify(execFile);

/** The type of btrfs in `statfs` (Linux, magic.h). */
const btrfs = 0x9123683e;

/** Whether a folder is here and on btrfs, whose compressed sizes `compsize` reads. */
async function isBtrfs(folder: string): Promise<boolean> {
  const { type } = await statfs(folder).catch(() => ({ type: undefined }));
  return type === btrfs;
}

/**
 * The bytes that files on btrfs take after compression, with what later writes replaced but btrfs still holds.
 * @throws where `compsize` is missing (Debian's package btrfs-compsize)
 */
async function readCompressedBytes(files: readonly string[]): Promise<number> {
  // Data that waits in memory has no size on disk yet.
  await run("sync");
  const { stdout } = await run("compsize", ["-b", ...files], { maxBuffer: 10_000_000 });
  const [, bytes] = /^TOTAL\s+\S+\s+(\d+)/m.exec(stdout) ?? [];
  if (bytes === undefined) throw new Error(`compsize printed no total: ${stdout}`);
  return Number(bytes);
}
