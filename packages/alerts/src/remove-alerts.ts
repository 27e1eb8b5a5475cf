/** Remove at most $3 settled rows of account $1 below id $2; skip rows in other workers' hands. Ranges of primary keys. */
export const purgeAlertsSql = {
  alert: `DELETE FROM alert WHERE account_id = $1 AND id IN (
    SELECT id FROM alert WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
  alert_summary: `DELETE FROM alert_summary WHERE account_id = $1 AND id IN (
    SELECT id FROM alert_summary WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
} as const;
