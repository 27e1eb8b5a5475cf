import type pg from "pg";

/** Mails of an account to its own address in the last 60 minutes at most; a summary lists the failures above. */
export interface MailLimits {
  perTrace: number;
  perAccount: number;
}

/** Alerts that one claim holds back at most; the account's next claim continues. */
const maxHeldTogether = 1_000;

// The alert of a mail; `isAllowed` is null where another session has it locked. A probe of `alert_pkey`.
const lockAlertSql = `
  WITH mine AS (
    SELECT trace_id, COALESCE(allowed_at > now() - interval '1 hour', false) AS is_allowed FROM alert
    WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT alert.trace_id AS "traceId", (SELECT is_allowed FROM mine) AS "isAllowed" FROM alert
  WHERE account_id = $1 AND id = $2`;

// One worker at a time counts the account's mails, so the limits hold exactly. Not the account's row lock: a transaction
// holding it would delay the mails of all accounts.
const lockMailsSql = "SELECT pg_advisory_xact_lock(hashtextextended('waymark mails ' || $1, 0))";

// When the limits of the account ($3) and the trace ($4) open again: an hour after the mail at this offset, null if they are
// open. Tests of the account's own channel count. Ranges of `alert_allowed_idx` and `delivery_test_idx` for the account, one of
// `alert_trace_idx` for the trace.
const readLimitsSql = `
  SELECT
    (SELECT at + interval '1 hour' FROM (
      (SELECT allowed_at AS at FROM alert
        WHERE account_id = $1 AND allowed_at > now() - interval '1 hour' ORDER BY allowed_at DESC LIMIT $3)
      UNION ALL
      SELECT created_at FROM delivery
      WHERE account_id = $1 AND channel_id = $1 AND event_id >= uuid_floor(now() - interval '1 hour') AND type = 'test'
    ) AS mails ORDER BY at DESC OFFSET $3 - 1 LIMIT 1) AS "accountUntil",
    (SELECT allowed_at + interval '1 hour' FROM alert
      WHERE account_id = $1 AND trace_id = $2 AND allowed_at > now() - interval '1 hour'
      ORDER BY allowed_at DESC OFFSET $4 - 1 LIMIT 1) AS "traceUntil"`;

// Counts the mail in the limits. A probe of `alert_pkey`.
const allowSql = "UPDATE alert SET allowed_at = now() WHERE account_id = $1 AND id = $2";

// Holds back until $2 the mails of the account, or of its trace $3, except those counted in the last hour: the account's
// collecting summary, a new one by $5, lists their alerts. Skips rows in other hands. A range of `delivery_owed_idx`.
const holdSql = `
  WITH above AS MATERIALIZED (
    SELECT a.id FROM delivery d JOIN alert a ON a.account_id = d.account_id AND a.id = d.event_id
    WHERE d.account_id = $1 AND d.channel_id = $1 AND d.type = 'trace.failed' AND d.sent_at IS NULL AND d.failed_at IS NULL
      AND (a.allowed_at IS NULL OR a.allowed_at <= now() - interval '1 hour') AND ($3::uuid IS NULL OR a.trace_id = $3)
    LIMIT $4 FOR UPDATE SKIP LOCKED
  ), held AS (
    UPDATE alert SET held_until = $2 WHERE account_id = $1 AND id = ANY (ARRAY(SELECT id FROM above))
  ), removed AS (
    DELETE FROM delivery WHERE account_id = $1 AND channel_id = $1 AND event_id = ANY (ARRAY(SELECT id FROM above))
  ), summary AS (
    INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, due_at, is_collecting)
    VALUES ($1, $5, $1, 'digest', '', $2, true)
    ON CONFLICT (account_id, channel_id, agent_id) WHERE is_collecting
    DO UPDATE SET due_at = LEAST(delivery.due_at, EXCLUDED.due_at)
  )
  SELECT count(*)::int AS held FROM above`;

interface ToAdmit {
  accountId: string;
  eventId: string;
  limits: MailLimits;
  summaryId: string;
}

/**
 * Applies the limits to an alert's mail, which the transaction has locked, and counts it. A mail that was counted within the
 * hour may go again; one whose alert is in other hands waits. `held` counts the alerts that the limits hold back from now on.
 */
export async function admitMail(client: pg.ClientBase, { accountId, eventId, limits, summaryId }: ToAdmit) {
  const key = [accountId, eventId];
  const { rows: alerts } = await client.query<{ traceId: string; isAllowed: boolean | null }>(lockAlertSql, key);
  const [alert] = alerts;
  if (!alert) return { isAllowed: true, held: 0 };
  if (alert.isAllowed === null) return { isAllowed: false, held: 0 };
  await client.query(lockMailsSql, [accountId]);
  if (!alert.isAllowed) {
    const values = [accountId, alert.traceId, limits.perAccount, limits.perTrace];
    const { rows } = await client.query<{ accountUntil: Date | null; traceUntil: Date | null }>(readLimitsSql, values);
    const { accountUntil = null, traceUntil = null } = rows[0] ?? {};
    const until = accountUntil ?? traceUntil;
    if (until !== null) {
      const ofTrace = accountUntil === null ? alert.traceId : null;
      const toHold = [accountId, until, ofTrace, maxHeldTogether, summaryId];
      const held = await client.query<{ held: number }>(holdSql, toHold);
      return { isAllowed: false, held: held.rows[0]?.held ?? 0 };
    }
  }
  await client.query(allowSql, key);
  return { isAllowed: true, held: 0 };
}
