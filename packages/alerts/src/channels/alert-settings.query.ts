import type { Queryable } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";

export const alertModes = ["each", "digest"] as const;
export type AlertMode = (typeof alertModes)[number];

interface AlertSettings {
  mode: AlertMode;
  windowSeconds: number;
}

const minWindowSeconds = 60;
const maxWindowSeconds = 86_400;
/** As the column's default. */
const defaultWindowSeconds = 600;

// Probes of primary keys. The account's row keeps a deletion away; its own channel has its id.
const openRoutingSql = `
  WITH opened AS (
    INSERT INTO alert_settings (account_id) SELECT id FROM account WHERE id = $1
    ON CONFLICT DO NOTHING RETURNING account_id
  )
  INSERT INTO channel (account_id, id, kind) SELECT account_id, account_id, 'mail' FROM opened`;

/**
 * From now on the worker routes the account's alerts: by its channels, its mode and its mutes. The first call makes the
 * account's own mail channel a row. In a transaction; writers of one account's channels then wait for each other.
 */
export async function openRouting(transaction: pg.ClientBase, accountId: string): Promise<void> {
  await transaction.query(openRoutingSql, [accountId]);
  await transaction.query("SELECT FROM alert_settings WHERE account_id = $1 FOR UPDATE", [accountId]);
}

/** Reads how an account's alerts are sent: each by itself without settings. A probe of `alert_settings_pkey`. */
export async function readAlertSettings(pool: pg.Pool, accountId: string): Promise<AlertSettings> {
  const sql = `SELECT mode, window_seconds AS "windowSeconds" FROM alert_settings WHERE account_id = $1`;
  const { rows } = await pool.query<AlertSettings>(sql, [accountId]);
  return rows[0] ?? { mode: "each", windowSeconds: defaultWindowSeconds };
}

const changeSql = `
  UPDATE alert_settings SET mode = $2, window_seconds = COALESCE($3, window_seconds) WHERE account_id = $1
  RETURNING mode, window_seconds AS "windowSeconds"`;

/** Sets how an account's mails and chat messages go. @throws AppError 400 for a window out of bounds */
export async function changeAlertSettings(
  transaction: pg.ClientBase,
  accountId: string,
  { mode, windowSeconds }: { mode: AlertMode; windowSeconds?: number | undefined },
): Promise<AlertSettings> {
  if (windowSeconds !== undefined && !(windowSeconds >= minWindowSeconds && windowSeconds <= maxWindowSeconds)) {
    throw validationError({ window: "Must be from 1m to 24h" });
  }
  await openRouting(transaction, accountId);
  const { rows } = await transaction.query<AlertSettings>(changeSql, [accountId, mode, windowSeconds ?? null]);
  if (!rows[0]) throw new AppError("not_found");
  return rows[0];
}

/** @param sql selects what the account has, without the `added` ones. @throws AppError 409 where they are too many together */
export async function requireRoom(
  client: Queryable,
  sql: string,
  values: readonly string[],
  { limit, what, added = 1 }: { limit: number; what: string; added?: number },
): Promise<void> {
  const { rowCount } = await client.query(sql, [...values]);
  if ((rowCount ?? 0) + added <= limit) return;
  throw new AppError("account_full", { details: { limit, reason: `An account has at most ${limit} ${what}.` } });
}
