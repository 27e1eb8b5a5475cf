import { findTables, type Table } from "@waymark/database";
import type pg from "pg";

/** Tables of a cell, not of an account. */
const ofTheCell = ["deleted_site", "event_horizon", "rate_limit", "slot_move", "stripe_event"];

/** Columns that mean something in their own database alone: a transaction's number, and a place in its queue. */
const leftBehind: Readonly<Record<string, readonly string[]>> = { trace: ["status_txid"], alert: ["queued_at"] };

/** Columns that a request changes on its way, without a reason to fail. */
const signsOfLife: Readonly<Record<string, readonly string[]>> = {
  api_key: ["last_used_at"],
  session: ["seen_at", "expires_at"],
};

export interface MovedTable {
  readonly table: string;
  readonly columns: readonly string[];
  /** The values to copy, in the order of the columns. */
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
