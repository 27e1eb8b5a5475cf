import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";

/** How an attempt left the alert. */
export interface Attempt {
  state: "sent" | "failed" | "owed";
  /** Why it was not sent. */
  reason: string | null;
  /** Whether the attempt counts towards giving up. */
  counts: boolean;
}

/** Writes down an attempt, unless another one settled the alert meanwhile. One probe of `alert_pkey`. */
const settleAlertSql = `
  UPDATE alert SET
    attempts = attempts + $3::integer,
    last_error = $4,
    sent_at = CASE WHEN $5 = 'sent' THEN now() END,
    failed_at = CASE WHEN $5 = 'failed' THEN now() END
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

/** Notes how an attempt to send the alert's mail ended. */
export async function settleAlert(pool: pg.Pool, alert: TraceFinalized, attempt: Attempt): Promise<void> {
  const values = [alert.accountId, alert.alertId, attempt.counts ? 1 : 0, attempt.reason, attempt.state];
  await pool.query({ name: "settle-alert", text: settleAlertSql, values });
}
