import { isUuid } from "@waymark/database";
import type pg from "pg";
import { AccountError } from "./account-error.js";

/** One probe of `account_pkey`. In a transaction, writers of one account's keys or sites wait for each other. */
const lockAccountSql = "SELECT slot FROM account WHERE id = $1 FOR NO KEY UPDATE";

/** @throws AccountError `unknown_account` */
export async function lockAccount(database: Pick<pg.ClientBase, "query">, id: string): Promise<{ slot: string }> {
  const { rows } = isUuid(id) ? await database.query<{ slot: string }>(lockAccountSql, [id]) : { rows: [] };
  if (!rows[0]) throw new AccountError("unknown_account", `There is no account '${id}'.`);
  return rows[0];
}

/** The slot of an account; a probe of `account_pkey`. @throws AccountError `unknown_account` */
export async function readSlot(database: Pick<pg.ClientBase, "query">, id: string): Promise<string> {
  const { rows } = await database.query<{ slot: string }>("SELECT slot FROM account WHERE id = $1", [id]);
  if (!rows[0]) throw new AccountError("unknown_account", `There is no account '${id}'.`);
  return rows[0].slot;
}

/** @throws AccountError `unknown_account` */
export async function requireAccount(database: Pick<pg.ClientBase, "query">, id: string): Promise<void> {
  const { rowCount } = isUuid(id) ? await database.query("SELECT FROM account WHERE id = $1", [id]) : { rowCount: 0 };
  if (rowCount !== 1) throw new AccountError("unknown_account", `There is no account '${id}'.`);
}
