import type pg from "pg";
import type { AlertKey } from "./alert-key.js";
import { type Attempt, attemptValues, noteAttemptSql } from "./attempt.js";

// Writes down an attempt, unless another one settled the alert meanwhile. One probe of `alert_pkey`.
const settleAlertSql = `
  UPDATE alert SET ${noteAttemptSql}
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

export async function settleAlert(pool: pg.Pool, alert: AlertKey, attempt: Attempt): Promise<void> {
  const values = [alert.accountId, alert.alertId, ...attemptValues(attempt)];
  await pool.query({ name: "settle-alert", text: settleAlertSql, values });
}
