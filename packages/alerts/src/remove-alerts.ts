/** Remove at most $3 settled rows of account $1 below id $2; skip rows in other workers' hands. Ranges of primary keys. */
export const purgeAlertsSql = {
  alert: `DELETE FROM alert WHERE account_id = $1 AND id IN (
    SELECT id FROM alert WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
  alert_summary: `DELETE FROM alert_summary WHERE account_id = $1 AND id IN (
    SELECT id FROM alert_summary WHERE account_id = $1 AND id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
  delivery: `DELETE FROM delivery WHERE account_id = $1 AND (event_id, channel_id) IN (
    SELECT event_id, channel_id FROM delivery
    WHERE account_id = $1 AND event_id < $2 AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY event_id, channel_id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
} as const;
