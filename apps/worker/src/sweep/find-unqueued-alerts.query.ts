import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";

/**
 * Alerts that are due and likely not in the queue: never queued within five seconds, in which the service does it itself, or
 * queued so long ago that a server may have lost them. Oldest first, along `alert_owed_idx`, which holds only what is owed a
 * mail of its own.
 */
const findUnqueuedAlertsSql = `
  SELECT account_id AS "accountId", id AS "alertId"
  FROM alert
  WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND due_at <= now()
    AND created_at < now() - interval '5 seconds'
    AND (queued_at IS NULL OR queued_at < now() - interval '5 minutes')
  ORDER BY created_at
  LIMIT $1`;

/** At most so many alerts to queue, oldest first. */
export async function findUnqueuedAlerts(pool: pg.Pool, limit: number): Promise<TraceFinalized[]> {
  const { rows } = await pool.query<TraceFinalized>({
    name: "find-unqueued-alerts",
    text: findUnqueuedAlertsSql,
    values: [limit],
  });
  return rows;
}
