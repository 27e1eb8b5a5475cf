import { removeBatchSql } from "@waymark/database";

const settledSql = "(sent_at IS NOT NULL OR failed_at IS NOT NULL)";

/** Remove at most $3 settled rows of account $1 below id $2; skip rows in other workers' hands. Ranges of primary keys. */
export const purgeAlertsSql = {
  alert: removeBatchSql(
    "alert",
    `WHERE account_id = $1 AND id < $2 AND ${settledSql} ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`,
  ),
  delivery: removeBatchSql(
    "delivery",
    `WHERE account_id = $1 AND event_id < $2 AND ${settledSql} ORDER BY event_id, channel_id LIMIT $3
    FOR UPDATE SKIP LOCKED`,
  ),
} as const;
