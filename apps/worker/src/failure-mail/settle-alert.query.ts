import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";
import type { Attempt } from "./attempt.js";

/**
 * Writes down an attempt, unless another one settled the alert meanwhile; where it is still owed, the next one may begin
 * after the given time. One probe of `alert_pkey`.
 */
const settleAlertSql = `
  UPDATE alert SET
    attempts = attempts + $3::integer,
    last_error = $4,
    sent_at = CASE WHEN $5 = 'sent' THEN now() END,
    failed_at = CASE WHEN $5 = 'failed' THEN now() END,
    due_at = now() + $6 * interval '1 millisecond'
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

/** Notes how an attempt to send the alert's mail ended. */
export async function settleAlert(pool: pg.Pool, alert: TraceFinalized, attempt: Attempt): Promise<void> {
  const { counts, reason, state, retryAfterMs } = attempt;
  const values = [alert.accountId, alert.alertId, counts ? 1 : 0, reason, state, retryAfterMs];
  await pool.query({ name: "settle-alert", text: settleAlertSql, values });
}
