import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import type { AlertKey } from "./alert-rule.js";
import { nextTurn } from "./turns.js";

/** Alert mails of the last 60 minutes at most; a summary lists the failures above. */
export interface MailLimits {
  perTrace: number;
  perAccount: number;
}

/** The next account's alert. A held one waits for the account's summary; `held` counts all that this claim held back. */
export interface Claim extends AlertKey {
  verdict: "send" | "held";
  held: number;
}

/** Alerts that one claim holds back at most; the account's next claim continues. */
const maxHeldTogether = 1_000;

/** An account with settings has its alerts routed first: a mute, a digest or its channels may take them. */
const isRoutedSql =
  "(routed_at IS NOT NULL OR NOT EXISTS (SELECT FROM alert_settings s WHERE s.account_id = alert.account_id))";

// The oldest due alert of the first account after $1, and whether the limits count it already for an attempt of the last
// hour. Skips alerts in other workers' hands. A probe of `alert_turn_idx`, past alerts of later times.
const findTurnSql = `
  SELECT account_id, id, trace_id, COALESCE(allowed_at > now() - interval '1 hour', false) FROM alert
  WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND due_at <= now() AND account_id > $1
    AND ${isRoutedSql}
  ORDER BY account_id, due_at LIMIT 1
  FOR NO KEY UPDATE SKIP LOCKED`;

// One worker at a time counts the account's mails, so the limits hold exactly. Not the account's row lock: a transaction
// holding it would delay the mails of all accounts.
const lockMailsSql = "SELECT pg_advisory_xact_lock(hashtextextended('waymark mails ' || $1, 0))";

// When the limits of the account ($3) and the trace ($4) open again: an hour after the mail at this offset, null if they are
// open. Tests of the account's own channel count. Ranges of `alert_allowed_idx` and `delivery_channel_idx` for the account, one of
// `alert_trace_idx` for the trace.
const readLimitsSql = `
  SELECT
    (SELECT at + interval '1 hour' FROM (
      (SELECT allowed_at AS at FROM alert
        WHERE account_id = $1 AND allowed_at > now() - interval '1 hour' ORDER BY allowed_at DESC LIMIT $3)
      UNION ALL
      SELECT created_at FROM delivery
      WHERE account_id = $1 AND channel_id = $1 AND event_id >= uuid_floor(now() - interval '1 hour') AND type = 'test'
    ) AS mails ORDER BY at DESC OFFSET $3 - 1 LIMIT 1),
    (SELECT allowed_at + interval '1 hour' FROM alert
      WHERE account_id = $1 AND trace_id = $2 AND allowed_at > now() - interval '1 hour'
      ORDER BY allowed_at DESC OFFSET $4 - 1 LIMIT 1)`;

// Allows the alert's mail, counts it in the limits, and keeps other workers off for $3 ms. A probe of `alert_pkey`.
const allowSql = `
  UPDATE alert SET allowed_at = now(), due_at = now() + $3 * interval '1 millisecond'
  WHERE account_id = $1 AND id = $2`;

// Holds back until $2 the pending alerts of the account, or of its trace $3, except those counted in the last hour. Skips rows
// in other workers' hands. A range of `alert_turn_idx`.
const holdSql = `
  UPDATE alert SET held_until = $2 WHERE account_id = $1 AND id = ANY (ARRAY(
    SELECT id FROM alert
    WHERE account_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL
      AND (allowed_at IS NULL OR allowed_at <= now() - interval '1 hour')
      AND ($3::uuid IS NULL OR trace_id = $3) AND ${isRoutedSql}
    LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
  ))`;

interface ClaimOptions {
  /** The account of the last claim; undefined starts the round anew. */
  after: string | undefined;
  limits: MailLimits;
  /** Other workers leave a claimed alert alone for this time; an attempt to send takes less. */
  leaseMs: number;
}

/** Claims the oldest due alert of the next account, round and round, and applies the limits; undefined if none is due. */
export function claimAlert(pool: pg.Pool, options: ClaimOptions): Promise<Claim | undefined> {
  const { after = smallestUuid, limits, leaseMs } = options;
  return withTransaction(pool, async (client) => {
    const turn = await nextTurn(after, (from) => findTurn(client, from));
    if (!turn) return undefined;
    const [accountId, alertId, traceId, isAllowed] = turn;
    await client.query(lockMailsSql, [accountId]);
    if (!isAllowed) {
      const { rows } = await client.query<[string | null, string | null]>({
        text: readLimitsSql,
        rowMode: "array",
        values: [accountId, traceId, limits.perAccount, limits.perTrace],
      });
      const [accountUntil, traceUntil] = rows[0] ?? [null, null];
      const until = accountUntil ?? traceUntil;
      if (until !== null) {
        const values = [accountId, until, accountUntil === null ? traceId : null, maxHeldTogether];
        const { rowCount } = await client.query(holdSql, values);
        return { accountId, alertId, verdict: "held", held: rowCount ?? 0 };
      }
    }
    await client.query(allowSql, [accountId, alertId, leaseMs]);
    return { accountId, alertId, verdict: "send", held: 0 };
  });
}

type Turn = [accountId: string, alertId: string, traceId: string, isAllowed: boolean];

async function findTurn(client: pg.ClientBase, after: string): Promise<Turn | undefined> {
  const { rows } = await client.query<Turn>({ text: findTurnSql, rowMode: "array", values: [after] });
  return rows[0];
}

const findWaitSql = `
  SELECT GREATEST(extract(epoch FROM due_at - now()) * 1000, 0)::float8 FROM alert
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL`;

/** Milliseconds until the alert is due; undefined if it is settled, held back or gone. One probe of `alert_pkey`. */
export async function findWait(pool: pg.Pool, { accountId, alertId }: AlertKey): Promise<number | undefined> {
  const values = [accountId, alertId];
  const { rows } = await pool.query<[number]>({ text: findWaitSql, rowMode: "array", values });
  return rows[0]?.[0];
}
