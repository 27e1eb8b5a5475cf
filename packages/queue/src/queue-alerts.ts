import type pg from "pg";
import type { TraceFinalized } from "./trace-finalized.schema.js";
import type { TraceFinalizedQueue } from "./trace-finalized-queue.js";

export interface QueueAlertsDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
}

/** Alerts that one call queues at most: the jobs of one statement. */
export const maxAlertsTogether = 500;

/**
 * Notes when alerts were queued. Those that are settled stay as they are, since the worker may be faster than this note; a
 * row that it has locked is in hand and needs no note, so that nothing is waited for. Probes of `alert_pkey`.
 */
const noteQueuedSql = `
  UPDATE alert SET queued_at = now() FROM (
    SELECT a.account_id, a.id FROM unnest($1::uuid[], $2::uuid[]) AS q (account_id, id)
    JOIN alert a ON a.account_id = q.account_id AND a.id = q.id
    WHERE a.sent_at IS NULL AND a.failed_at IS NULL
    FOR NO KEY UPDATE OF a SKIP LOCKED
  ) AS owed
  WHERE alert.account_id = owed.account_id AND alert.id = owed.id`;

/**
 * Queues owed alerts by one addition and notes that they are queued, so that the sweep leaves them alone for a while.
 * @param alerts {@link maxAlertsTogether} at most
 * @throws QueueUnavailableError or an error of the database; the sweep will queue the alerts then
 */
export async function queueAlerts({ pool, queue }: QueueAlertsDeps, alerts: readonly TraceFinalized[]): Promise<void> {
  if (alerts.length === 0) return;
  await queue.add(alerts);
  const values = [alerts.map(({ accountId }) => accountId), alerts.map(({ alertId }) => alertId)];
  await pool.query({ name: "note-alerts-queued", text: noteQueuedSql, values });
}
