import { type Queryable, withTransaction } from "@waymark/database";
import { lockSites } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { deleteSite } from "./sites.js";

/** Rows per statement, so each statement holds its locks only briefly. */
const batchRows = 2_000;

const owners = {
  account_id: { table: "account", keep: ["api_key", "site"] },
  site_id: { table: "site", keep: ["api_key"] },
} as const satisfies Record<string, { table: string; keep: readonly string[] }>;

type OwnerColumn = keyof typeof owners;

interface OwnedTable {
  /** Quoted for SQL. */
  name: string;
  /** Whether an index starts with the owner. */
  isIndexed: boolean;
  /** Of a partitioned table the primary key's columns after the owner, quoted for SQL; null otherwise. */
  key: string | null;
}

/** By the catalog, so erasing covers new tables too. `trace` first: readers miss a half-erased trace instead of seeing a part. */
const findTablesSql = `
  SELECT c.oid::regclass::text AS name,
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL) AS "isIndexed",
    CASE WHEN c.relkind = 'p' THEN (
      SELECT string_agg(quote_ident(k.attname), ', ' ORDER BY place) FROM pg_index i
      CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS each (attnum, place)
      JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = each.attnum
      WHERE i.indrelid = c.oid AND i.indisprimary AND k.attname <> $1
    ) END AS key
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $1 AND NOT a.attisdropped
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> ALL ($2)
  ORDER BY c.relname <> 'trace', c.relname`;

async function findTables(pool: pg.Pool, column: OwnerColumn): Promise<OwnedTable[]> {
  const { rows } = await pool.query<OwnedTable>(findTablesSql, [column, owners[column].keep]);
  return rows;
}

/**
 * Runs a statement by indexes alone: a sequential scan would read every dead row of the batches before. A site's rows go under the
 * lock of its writers, so neither waits for a row of the other in another order.
 */
function queryByIndex<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[],
  siteId?: string,
): Promise<pg.QueryResult<Row>> {
  return withTransaction(pool, async (client) => {
    if (siteId !== undefined) await lockSites(client, [siteId]);
    await client.query("SET LOCAL enable_seqscan = off");
    return client.query<Row>(sql, [...values]);
  });
}

/**
 * Removes at most $2 rows of an owner by its index. One statement finds and removes them, so each `ctid` is still valid. In a
 * partitioned table a `ctid` names no partition, so the batch is a range of the primary key.
 */
function eraseBatchSql({ name, key }: OwnedTable, column: OwnerColumn): string {
  if (key !== null) {
    const last = `${key.replaceAll(", ", " DESC, ")} DESC`;
    return `DELETE FROM ${name} WHERE ${column} = $1 AND (${key}) <= (
      SELECT ${key} FROM (SELECT ${key} FROM ${name} WHERE ${column} = $1 ORDER BY ${key} LIMIT $2) AS batch
      ORDER BY ${last} LIMIT 1)`;
  }
  return `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${column} = $1 LIMIT $2))
    AND ${column} = $1`;
}

export interface EraseControl {
  /** Called between batches. After a stop, removed rows stay removed. */
  isStopping(): boolean;
  /** Called after each batch with removed rows. @param rows removed from the table by this call so far */
  onProgress?(table: string, rows: number): void;
}

export type Erased = Record<string, number>;

async function eraseRows(
  pool: pg.Pool,
  { column, id, erased }: { column: OwnerColumn; id: string; erased: Erased },
  control: EraseControl,
): Promise<void> {
  for (const table of await findTables(pool, column)) {
    const { name } = table;
    let removed = -1;
    while (removed !== 0 && !control.isStopping()) {
      const siteId = column === "site_id" ? id : undefined;
      const { rowCount } = await queryByIndex(pool, eraseBatchSql(table, column), [id, batchRows], siteId);
      removed = rowCount ?? 0;
      if (removed === 0) continue;
      erased[name] = (erased[name] ?? 0) + removed;
      control.onProgress?.(name, erased[name]);
    }
  }
}

/**
 * Deletes the site's row first, with its keys: imports end, and the collector soon no longer knows the domain. Its rows follow in
 * batches. The worker removes the rest after a stop, and late events.
 * @throws AccountError `unknown_site`
 */
export async function eraseSite(pool: pg.Pool, siteId: string, control: EraseControl): Promise<Erased> {
  await withTransaction(pool, (transaction) => deleteSite(transaction, { siteId }));
  const erased: Erased = { site: 1 };
  const rows = { column: "site_id", id: siteId, erased } as const;
  await eraseRows(pool, rows, control);
  await eraseRows(pool, rows, control);
  return erased;
}

/**
 * Deletes the account's row first, with its keys and sites, so no new data arrives; then as {@link eraseSite}. A second pass
 * removes rows of requests under way; {@link eraseOrphans} removes later ones.
 */
export async function eraseAccount(pool: pg.Pool, accountId: string, control: EraseControl): Promise<Erased> {
  const owned = await findOwned(pool, accountId);
  await withTransaction(pool, async (transaction) => {
    await transaction.query(
      "INSERT INTO deleted_site (id) SELECT id FROM site WHERE account_id = $1 ON CONFLICT DO NOTHING",
      [accountId],
    );
    await deleteAccount(transaction, owned);
  });
  await eraseOwned(pool, owned, control);
  await eraseOwned(pool, owned, control);
  return owned.erased;
}

/**
 * Removes an account that has another place. Its row goes last: until then a move refuses changes of its rows, and a stopped
 * erasure can run again. A site of it may come back at once, so none becomes a deleted one.
 */
export async function eraseMovedAccount(pool: pg.Pool, accountId: string, control: EraseControl): Promise<Erased> {
  const owned = await findOwned(pool, accountId);
  await pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL", [accountId]);
  await eraseOwned(pool, owned, control);
  if (control.isStopping()) return owned.erased;
  await deleteAccount(pool, owned);
  await eraseOwned(pool, owned, control);
  return owned.erased;
}

interface Owned {
  accountId: string;
  siteIds: readonly string[];
  erased: Erased;
}

async function findOwned(pool: pg.Pool, accountId: string): Promise<Owned> {
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM site WHERE account_id = $1", [accountId]);
  return { accountId, siteIds: rows.map(({ id }) => id), erased: {} };
}

/** The foreign keys remove sites and API keys too. */
async function deleteAccount(client: Queryable, { accountId, siteIds, erased }: Owned): Promise<void> {
  const { rowCount } = await client.query("DELETE FROM account WHERE id = $1", [accountId]);
  if (!rowCount) return;
  erased["account"] = rowCount;
  if (siteIds.length > 0) erased["site"] = siteIds.length;
}

async function eraseOwned(pool: pg.Pool, { accountId, siteIds, erased }: Owned, control: EraseControl): Promise<void> {
  for (const id of siteIds) await eraseRows(pool, { column: "site_id", id, erased }, control);
  await eraseRows(pool, { column: "account_id", id: accountId, erased }, control);
}

/** At most 100 deleted sites, oldest first. The table is small: a site leaves it after one erasure. */
const findDeletedSitesSql = "SELECT id FROM deleted_site ORDER BY deleted_at LIMIT 100";

/** A collector that knows a deleted site from its cache records for some seconds more; the next round removes that too. */
const forgetDeletedSiteSql = "DELETE FROM deleted_site WHERE id = $1 AND deleted_at < now() - interval '5 minutes'";

/** Removes the events and figures of sites that the dashboard deleted, also of the last site of all. */
export async function eraseDeletedSites(pool: pg.Pool, control: EraseControl): Promise<Erased> {
  const erased: Erased = {};
  const { rows } = await pool.query<{ id: string }>(findDeletedSitesSql);
  for (const { id } of rows) {
    await eraseRows(pool, { column: "site_id", id, erased }, control);
    if (control.isStopping()) break;
    await pool.query(forgetDeletedSiteSql, [id]);
  }
  return erased;
}

/** Finds $1 deleted owners: jumps from owner to owner along the index, a few probes each. A table without one is small. */
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

const maxOrphansPerTable = 100;

/**
 * Removes rows of deleted accounts and sites, left by requests under way, stopped erasures and SQL. Without any account (site)
 * it removes nothing: a restore of a dump may not have loaded them yet.
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
