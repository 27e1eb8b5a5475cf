import { withTransaction } from "@waymark/database";
import type pg from "pg";

/** Rows that one statement removes at most: small enough to hold no lock for long. */
const pieceRows = 2_000;

/** Tables whose rows name their owner. */
const owners = {
  account_id: { table: "account", keep: ["api_key", "site"] },
  site_id: { table: "site", keep: [] },
} as const satisfies Record<string, { table: string; keep: readonly string[] }>;

type OwnerColumn = keyof typeof owners;

interface OwnedTable {
  /** Quoted where SQL wants it. */
  name: string;
  /** Whether an index starts with the owner. */
  isIndexed: boolean;
  /** Partitioned along `id`, the primary key's second column. */
  isPartitioned: boolean;
}

/**
 * The tables that have the column, read from the catalog, so that none which is added later is forgotten.
 * `trace` comes first: what is half removed is then not found rather than found incomplete.
 */
const findTablesSql = `
  SELECT c.oid::regclass::text AS name,
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL) AS "isIndexed",
    c.relkind = 'p' AS "isPartitioned"
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $1 AND NOT a.attisdropped
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> ALL ($2)
  ORDER BY c.relname <> 'trace', c.relname`;

async function findTables(pool: pg.Pool, column: OwnerColumn): Promise<OwnedTable[]> {
  const { rows } = await pool.query<OwnedTable>(findTablesSql, [column, owners[column].keep]);
  return rows;
}

/** Runs a statement that is planned by indexes: a read of the whole table would pass over all that was removed before. */
function queryByIndex<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> {
  return withTransaction(pool, async (client) => {
    await client.query("SET LOCAL enable_seqscan = off");
    return client.query<Row>(sql, [...values]);
  });
}

/**
 * Removes rows of an owner, so many at most. Rows of a table are found and removed in one statement, so that a `ctid` means
 * what it says; those that another session changed meanwhile are found by the next piece. In a partitioned table, where a
 * `ctid` names no partition, the piece is a range of the primary key.
 */
function erasePieceSql({ name, isPartitioned }: OwnedTable, column: OwnerColumn): string {
  if (isPartitioned) {
    return `DELETE FROM ${name} WHERE ${column} = $1 AND id <= (
      SELECT id FROM (SELECT id FROM ${name} WHERE ${column} = $1 ORDER BY id LIMIT $2) AS piece ORDER BY id DESC LIMIT 1)`;
  }
  return `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${column} = $1 LIMIT $2))
    AND ${column} = $1`;
}

/** Follows an erasure. */
export interface EraseControl {
  /** Asked between pieces: what was removed stays removed, and another call goes on. */
  isStopping(): boolean;
  /** Told after each piece that removed something, with what the call removed of the table so far. */
  onProgress?(table: string, rows: number): void;
}

/** Rows removed, by table. */
export type Erased = Record<string, number>;

/**
 * Removes rows of an owner in pieces, each a transaction of its own, by the index that starts with the owner, where there
 * is one.
 */
async function eraseRows(
  pool: pg.Pool,
  { column, id, erased }: { column: OwnerColumn; id: string; erased: Erased },
  control: EraseControl,
): Promise<void> {
  for (const table of await findTables(pool, column)) {
    const { name } = table;
    let removed = -1;
    while (removed !== 0 && !control.isStopping()) {
      const { rowCount } = await queryByIndex(pool, erasePieceSql(table, column), [id, pieceRows]);
      removed = rowCount ?? 0;
      if (removed === 0) continue;
      erased[name] = (erased[name] ?? 0) + removed;
      control.onProgress?.(name, erased[name]);
    }
  }
}

/**
 * Removes a site with its events and figures. The site itself goes when its rows are gone, so an erasure that was stopped can
 * be called again; then once more its rows, since events may have come until the collector knew.
 */
export async function eraseSite(pool: pg.Pool, siteId: string, control: EraseControl): Promise<Erased> {
  const erased: Erased = {};
  await eraseSiteInto(pool, siteId, erased, control);
  return erased;
}

async function eraseSiteInto(pool: pg.Pool, siteId: string, erased: Erased, control: EraseControl): Promise<void> {
  const rows = { column: "site_id", id: siteId, erased } as const;
  await eraseRows(pool, rows, control);
  if (control.isStopping()) return;
  const { rowCount } = await pool.query("DELETE FROM site WHERE id = $1", [siteId]);
  if (rowCount) erased["site"] = (erased["site"] ?? 0) + rowCount;
  await eraseRows(pool, rows, control);
}

/**
 * Removes an account with all that it has. Its keys are revoked first, so that nothing new comes in; the account itself goes
 * last, so an erasure that was stopped can be called again; then once more its rows, since a request may have been under way.
 * What comes even later, {@link eraseOrphans} removes.
 */
export async function eraseAccount(pool: pg.Pool, accountId: string, control: EraseControl): Promise<Erased> {
  const erased: Erased = {};
  const rows = { column: "account_id", id: accountId, erased } as const;
  await pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL", [accountId]);
  const sites = await pool.query<{ id: string }>("SELECT id FROM site WHERE account_id = $1", [accountId]);
  for (const { id } of sites.rows) await eraseSiteInto(pool, id, erased, control);
  await eraseRows(pool, rows, control);
  if (control.isStopping()) return erased;
  // Its keys go with it, by their foreign key.
  const { rowCount } = await pool.query("DELETE FROM account WHERE id = $1", [accountId]);
  if (rowCount) erased["account"] = rowCount;
  await eraseRows(pool, rows, control);
  return erased;
}

/**
 * Owners in a table that do not exist, by jumps from one owner to the next along the index that starts with them: a few
 * probes for an owner, however many rows it has. A table without such an index, which is small, is read.
 */
function findOrphansSql({ name, isIndexed }: OwnedTable, column: OwnerColumn): string {
  const { table } = owners[column];
  const isOrphan = `NOT EXISTS (SELECT FROM ${table} o WHERE o.id = found.id)`;
  if (!isIndexed) {
    return `SELECT id FROM (SELECT DISTINCT ${column} AS id FROM ${name}) AS found WHERE ${isOrphan} LIMIT $1`;
  }
  return `
    WITH RECURSIVE found AS (
      (SELECT ${column} AS id FROM ${name} ORDER BY ${column} LIMIT 1)
      UNION ALL
      SELECT (SELECT t.${column} FROM ${name} t WHERE t.${column} > found.id ORDER BY t.${column} LIMIT 1)
      FROM found WHERE found.id IS NOT NULL
    )
    SELECT id FROM found WHERE id IS NOT NULL AND ${isOrphan} LIMIT $1`;
}

/** Owners that one call looks after at most in a table; the next call goes on. */
const maxOrphansPerTable = 100;

/**
 * Removes rows whose account or site is gone: left by a request that was under way during an erasure, by one that was
 * stopped, or by an account that was deleted by SQL. Where there is no account (no site) at all nothing is removed: a dump
 * that is being restored has loaded its owners wholly or not yet.
 */
export async function eraseOrphans(pool: pg.Pool, control: EraseControl): Promise<Erased> {
  const erased: Erased = {};
  for (const column of ["account_id", "site_id"] as const) {
    const { rowCount } = await pool.query(`SELECT FROM ${owners[column].table} LIMIT 1`);
    if (rowCount === 0) continue;
    const gone = new Set<string>();
    for (const table of await findTables(pool, column)) {
      if (control.isStopping()) return erased;
      const { rows } = await queryByIndex<{ id: string }>(pool, findOrphansSql(table, column), [maxOrphansPerTable]);
      for (const { id } of rows) gone.add(id);
    }
    for (const id of gone) await eraseRows(pool, { column, id, erased }, control);
  }
  return erased;
}
