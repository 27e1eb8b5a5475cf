import type pg from "pg";
import type { AlertKey } from "./alert-rule.js";

export interface QueueAlertsDeps {
  pool: pg.Pool;
  queue: { add(alerts: readonly AlertKey[]): Promise<void> };
}

/** Alerts that one call queues at most: the jobs of one statement. */
export const maxAlertsTogether = 500;

// Notes the time. Leaves settled alerts alone, since the worker may be faster than this note, and skips locked ones: a worker
// has them in hand. Probes of `alert_pkey`.
const noteQueuedSql = `
  UPDATE alert SET queued_at = now() FROM (
    SELECT a.account_id, a.id FROM unnest($1::uuid[], $2::uuid[]) AS q (account_id, id)
    JOIN alert a ON a.account_id = q.account_id AND a.id = q.id
    WHERE a.sent_at IS NULL AND a.failed_at IS NULL
    FOR NO KEY UPDATE OF a SKIP LOCKED
  ) AS pending
  WHERE alert.account_id = pending.account_id AND alert.id = pending.id`;

/**
 * Queues pending alerts, {@link maxAlertsTogether} at most, and notes it.
 * @throws the error of the queue or the database; the worker's sweep finds the alerts then
 */
export async function queueAlerts({ pool, queue }: QueueAlertsDeps, alerts: readonly AlertKey[]): Promise<void> {
  if (alerts.length === 0) return;
  await queue.add(alerts);
  const values = [alerts.map(({ accountId }) => accountId), alerts.map(({ alertId }) => alertId)];
  await pool.query({ name: "note-alerts-queued", text: noteQueuedSql, values });
}
