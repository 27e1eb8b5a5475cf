import { withTransaction } from "@waymark/database";
import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";
import { leaseMs } from "../failure-mail/attempt.js";

/** Failure mails of one hour at most; a summary tells of the runs above. */
export interface MailLimits {
  perTrace: number;
  perAccount: number;
}

/** The alert whose turn it is, and whether its mail may go out or waits for the account's summary. */
export interface Claim extends TraceFinalized {
  verdict: "send" | "held";
  /** How many alerts of the account the limit keeps back now, where it does. */
  held: number;
}

/** Alerts that one statement keeps back at most; the next claim of the account goes on. */
const maxHeldTogether = 1_000;

/** Sorts before every account's id. */
export const smallestId = "00000000-0000-0000-0000-000000000000";

/**
 * The oldest due alert of the first account after the given one that has any, and whether the limits count it already, from
 * an attempt of the last hour that failed. An alert that another worker is claiming is skipped. A probe of `alert_turn_idx`,
 * which passes over alerts that are not due yet.
 */
const findTurnSql = `
  SELECT account_id, id, trace_id, COALESCE(allowed_at > now() - interval '1 hour', false) FROM alert
  WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND due_at <= now() AND account_id > $1
  ORDER BY account_id, due_at LIMIT 1
  FOR NO KEY UPDATE SKIP LOCKED`;

/**
 * Lets one worker at a time count the account's mails, so that the limits hold exactly. Not the lock of the account's row:
 * whoever holds that one would keep the mails of all accounts waiting.
 */
const lockMailsSql = "SELECT pg_advisory_xact_lock(hashtextextended('waymark mails ' || $1, 0))";

/**
 * When the limits open again, null where they are open: an hour after the mail that is as many mails ago as the limit says.
 * The account's last hour is a range of `alert_allowed_idx`, the trace's alerts one of `alert_trace_idx`.
 */
const readLimitsSql = `
  SELECT
    (SELECT allowed_at + interval '1 hour' FROM alert
      WHERE account_id = $1 AND allowed_at > now() - interval '1 hour'
      ORDER BY allowed_at DESC OFFSET $3 - 1 LIMIT 1),
    (SELECT allowed_at + interval '1 hour' FROM alert
      WHERE account_id = $1 AND trace_id = $2 AND allowed_at > now() - interval '1 hour'
      ORDER BY allowed_at DESC OFFSET $4 - 1 LIMIT 1)`;

/**
 * Lets the alert's mail go now, by which the limits count it, and keeps other workers from it for the time of an attempt. A
 * probe of `alert_pkey`.
 */
const allowSql = `
  UPDATE alert SET allowed_at = now(), due_at = now() + $3 * interval '1 millisecond'
  WHERE account_id = $1 AND id = $2`;

/**
 * Keeps back alerts of the account that no limit let go in the last hour, those of one trace where one is given. What another
 * worker has locked is skipped. A range of `alert_turn_idx`.
 */
const holdSql = `
  UPDATE alert SET held_until = $2 FROM (
    SELECT id FROM alert
    WHERE account_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL
      AND (allowed_at IS NULL OR allowed_at <= now() - interval '1 hour')
      AND ($3::uuid IS NULL OR trace_id = $3)
    LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
  ) AS pending
  WHERE alert.account_id = $1 AND alert.id = pending.id`;

/**
 * Claims the alert whose turn it is, going round the accounts, and decides by the limits whether its mail may go out.
 * @param after the account whose turn was last
 * @returns undefined where nothing is due
 */
export function claimAlert(
  pool: pg.Pool,
  { after, limits }: { after: string; limits: MailLimits },
): Promise<Claim | undefined> {
  return withTransaction(pool, async (client) => {
    const turn =
      (await findTurn(client, after)) ?? (after === smallestId ? undefined : await findTurn(client, smallestId));
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

/** How long until an alert may be tried, while it is owed a mail of its own. One probe of `alert_pkey`. */
const findWaitSql = `
  SELECT GREATEST(extract(epoch FROM due_at - now()) * 1000, 0)::float8 FROM alert
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL`;

/** Milliseconds until the alert may be tried; undefined where it is settled, kept back or gone. */
export async function findWait(pool: pg.Pool, { accountId, alertId }: TraceFinalized): Promise<number | undefined> {
  const values = [accountId, alertId];
  const { rows } = await pool.query<[number]>({ text: findWaitSql, rowMode: "array", values });
  return rows[0]?.[0];
}
