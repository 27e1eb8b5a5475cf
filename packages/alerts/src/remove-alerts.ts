/** Remove at most $3 settled rows of account $1 below id $2; skip rows in other workers' hands. Ranges of primary keys. */
export const purgeAlertsSql = {
  alert: `DELETE FROM alert WHERE account_id = $1 AND id IN (
    SELECT id FROM alert WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
  alert_summary: `DELETE FROM alert_summary WHERE account_id = $1 AND id IN (
    SELECT id FROM alert_summary WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
} as const;

/** Removes the pending alerts of an account's ($1) trace ($2); sent and failed ones stay. A range of `alert_trace_idx`. */
export const deletePendingAlertsSql =
  "DELETE FROM alert WHERE account_id = $1 AND trace_id = $2 AND sent_at IS NULL AND failed_at IS NULL";
