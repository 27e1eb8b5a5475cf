import type pg from "pg";

// Alerts that wait without a mail. Keeps its due time, so an attempt in hand ends first, and its age by the pauses of its
// attempts, each a tenth longer. Reads `alert_turn_idx`; for each a probe of `delivery_pkey`.
const adoptAlertsSql = `
  WITH adopted AS (
    UPDATE alert SET routed_at = COALESCE(routed_at, now())
    WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND (routed_at IS NOT NULL OR allowed_at IS NOT NULL)
      AND NOT EXISTS (
        SELECT FROM delivery d WHERE d.account_id = alert.account_id AND d.event_id = alert.id
          AND d.channel_id = alert.account_id AND d.sent_at IS NULL AND d.failed_at IS NULL)
    RETURNING *
  )
  INSERT INTO delivery (account_id, event_id, channel_id, type, created_at, due_at, begun_at, attempts)
  SELECT account_id, id, account_id, 'trace.failed', created_at, due_at,
    now() - (SELECT sum(LEAST(2 ^ n, 3600)) * 1.1 FROM generate_series(1, attempts) AS n) * interval '1 second', attempts
  FROM adopted
  ON CONFLICT (account_id, event_id, channel_id) DO UPDATE
  SET sent_at = NULL, failed_at = NULL, due_at = EXCLUDED.due_at, begun_at = EXCLUDED.begun_at, attempts = EXCLUDED.attempts`;

// Also sent ones, since an account gets one an hour. The table is empty otherwise.
const adoptSummariesSql = `
  WITH moved AS (DELETE FROM alert_summary RETURNING *)
  INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, created_at, due_at, begun_at, sent_at, failed_at,
    attempts, last_error)
  SELECT account_id, id, account_id, 'digest', '', created_at, due_at, created_at, sent_at, failed_at, attempts, last_error
  FROM moved`;

// Alerts that wait for a summary where none collects; its id begins with the time. Reads `alert_held_idx`.
const adoptHeldSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, due_at, is_collecting)
  SELECT account_id, overlay(gen_random_uuid()::text PLACING left(uuid_floor(now())::text, 13) FROM 1)::uuid, account_id,
    'digest', '', min(held_until), true
  FROM alert
  WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL
  GROUP BY account_id
  ON CONFLICT (account_id, channel_id, agent_id) WHERE is_collecting DO NOTHING`;

/**
 * Takes over the mails of workers of releases before, whose record was the alert alone and the table `alert_summary`: at the
 * first sweep after an upgrade, and while such a worker runs beside. Keys stay, so no mail comes twice.
 */
export async function adoptMails(pool: pg.Pool): Promise<void> {
  for (const sql of [adoptAlertsSql, adoptSummariesSql, adoptHeldSql]) await pool.query(sql);
}
