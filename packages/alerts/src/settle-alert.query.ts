import type pg from "pg";
import type { AlertKey } from "./alert-key.js";

/** How an attempt to send left an alert or a summary. */
export interface Attempt {
  state: "sent" | "failed" | "pending";
  /** The cause, unless the mail was sent. */
  reason: string | null;
  /** Whether the attempt counts towards giving up. */
  counts: boolean;
  /** The next attempt of a pending one begins no sooner. */
  retryAfterMs: number;
}

/** Sets the columns of an attempt in an alert or a summary, by {@link attemptValues} from $3 on. */
export const noteAttemptSql = `
    attempts = attempts + $3::integer,
    last_error = $4,
    sent_at = CASE WHEN $5 = 'sent' THEN now() END,
    failed_at = CASE WHEN $5 = 'failed' THEN now() END,
    due_at = now() + $6 * interval '1 millisecond'`;

export function attemptValues({ counts, reason, state, retryAfterMs }: Attempt): unknown[] {
  return [counts ? 1 : 0, reason, state, retryAfterMs];
}

// Writes down an attempt, unless another one settled the alert meanwhile. One probe of `alert_pkey`.
const settleAlertSql = `
  UPDATE alert SET ${noteAttemptSql}
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

export async function settleAlert(pool: pg.Pool, alert: AlertKey, attempt: Attempt): Promise<void> {
  const values = [alert.accountId, alert.alertId, ...attemptValues(attempt)];
  await pool.query({ name: "settle-alert", text: settleAlertSql, values });
}
