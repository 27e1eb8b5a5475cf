import { setTimeout } from "node:timers/promises";
import { findTables, type Queryable, type Table, tryTransaction, withConnection } from "@waymark/database";
import type pg from "pg";

/** A refused or failed step of a move. The message is a sentence for the operator. */
export class MoveError extends Error {
  override name = "MoveError";
}

/** Writers of all tenants queue behind a change of triggers, which waits so long for those at work. */
const lockTimeoutMs = 250;
const pauseMs = 250;
const attempts = 120;

export interface SlotMove {
  slot: string;
  id: string;
  phase: "moving" | "moved" | "finishing" | "undoing" | "arriving";
  other: string;
}

const columns = "slot, id, phase, other";

export async function readMoves(pool: pg.Pool): Promise<SlotMove[]> {
  const { rows } = await pool.query<SlotMove>(`SELECT ${columns} FROM slot_move ORDER BY slot`);
  return rows;
}

const notifySql = "SELECT pg_notify('waymark_access', id::text) FROM account WHERE slot = $1";

export async function setPhase(client: Queryable, { slot, id, phase, other }: SlotMove): Promise<void> {
  await client.query(
    `INSERT INTO slot_move (slot, id, phase, other) VALUES ($1, $2, $3, $4) ON CONFLICT (slot) DO UPDATE SET phase = $3`,
    [slot, id, phase, other],
  );
  await client.query(notifySql, [slot]);
}

export async function forgetMove(pool: pg.Pool, slot: string): Promise<void> {
  await pool.query("DELETE FROM slot_move WHERE slot = $1", [slot]);
  await pool.query(notifySql, [slot]);
}

/**
 * Refuses all further changes of the slot's rows, also by statements that a service sends without knowing of the move. Each
 * trigger waits for the writers at work, in short attempts. @throws MoveError where writers hold a table for a minute
 */
export async function addTriggers(pool: pg.Pool): Promise<void> {
  for (const { table, triggerArguments } of await withConnection(pool, findMovedTables)) {
    const args = triggerArguments.map((it) => `'${it}'`).join(", ");
    await changeTable(
      pool,
      table,
      `CREATE OR REPLACE TRIGGER refuse_moving BEFORE INSERT OR UPDATE OR DELETE ON "${table}"
       FOR EACH ROW EXECUTE FUNCTION refuse_moving(${args})`,
    );
  }
}

export async function dropTriggers(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ table: string }>(
    `SELECT c.relname AS table FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE t.tgname = 'refuse_moving' AND t.tgparentid = 0 ORDER BY 1`,
  );
  for (const { table } of rows) await changeTable(pool, table, `DROP TRIGGER IF EXISTS refuse_moving ON "${table}"`);
}

async function changeTable(pool: pg.Pool, table: string, sql: string): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await tryTransaction(pool, lockTimeoutMs, (client) => client.query(sql))) return;
    await setTimeout(pauseMs);
  }
  throw new MoveError(`Other sessions hold the table ${table}. Run the same command again later.`);
}

/** Tables of a cell, not of an account. */
const ofTheCell = [
  "challenge",
  "deleted_site",
  "event_horizon",
  "machine_list",
  "rate_limit",
  "slot_move",
  "stripe_event",
];

/** Columns that mean something in their own database alone: a transaction's number. */
const leftBehind: Readonly<Record<string, readonly string[]>> = { trace: ["status_txid"] };

/** Columns that a request changes on its way, without a reason to fail. */
const signsOfLife: Readonly<Record<string, readonly string[]>> = {
  api_key: ["last_used_at"],
  session: ["seen_at", "expires_at"],
};

export interface MovedTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly values: string;
  /** Arguments of `refuse_moving`: where a row's slot is, and the columns that may stay as they are. */
  readonly triggerArguments: readonly string[];
  /** The rows of a slot's accounts. @param slot two hexadecimal digits */
  where(slot: string): string;
  /** Of a person, who may be known to the other cell. */
  readonly isShared: boolean;
}

/**
 * The tables with rows of accounts, by the catalogue, each after those that it refers to: accounts, then what has an account or
 * a site, and their people.
 * @throws Error for a table that belongs to neither: it needs a line here
 */
export async function findMovedTables(client: pg.ClientBase): Promise<MovedTable[]> {
  const tables = await findTables(client);
  return tables.filter(({ table }) => !ofTheCell.includes(table)).map(describe);
}

function describe({ table, columns }: Table): MovedTable {
  const values = columns.map((column) => (leftBehind[table]?.includes(column) ? "NULL" : `"${column}"`)).join(", ");
  const owner = ownerOf(table, columns);
  const triggerArguments = [owner, ...(signsOfLife[table] ?? [])];
  const isShared = owner === "id" || owner === "person_id";
  return { table, columns, values, triggerArguments, where: (slot) => whereSql(owner, slot), isShared };
}

type Owner = "slot" | "account_id" | "site_id" | "id" | "person_id";

function ownerOf(table: string, columns: readonly string[]): Owner {
  if (table === "account") return "slot";
  if (table === "person") return "id";
  const owner = (["account_id", "site_id", "person_id"] as const).find((column) => columns.includes(column));
  if (!owner) throw new Error(`No account owns the table ${table}`);
  return owner;
}

function whereSql(owner: Owner, slot: string): string {
  const accounts = `(SELECT id FROM account WHERE slot = '${slot}')`;
  if (owner === "slot") return `slot = '${slot}'`;
  if (owner === "account_id") return `account_id IN ${accounts}`;
  if (owner === "site_id") return `site_id IN (SELECT id FROM site WHERE account_id IN ${accounts})`;
  return `${owner} IN (SELECT person_id FROM membership WHERE account_id IN ${accounts})`;
}
