import type pg from "pg";
import type { AlertKey } from "./alert-key.js";

// Due alerts likely to miss a job: not queued by the service in their first five seconds, or queued so long ago that the
// queue's server may have lost them. Oldest first along `alert_owed_idx`, without held ones.
const findUnqueuedAlertsSql = `
  SELECT account_id AS "accountId", id AS "alertId"
  FROM alert
  WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND due_at <= now()
    AND created_at < now() - interval '5 seconds'
    AND (queued_at IS NULL OR queued_at < now() - interval '5 minutes')
  ORDER BY created_at
  LIMIT $1`;

/** Alerts to queue again, oldest first. */
export async function findUnqueuedAlerts(pool: pg.Pool, limit: number): Promise<AlertKey[]> {
  const { rows } = await pool.query<AlertKey>({
    name: "find-unqueued-alerts",
    text: findUnqueuedAlertsSql,
    values: [limit],
  });
  return rows;
}
