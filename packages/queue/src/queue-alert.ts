import type pg from "pg";
import type { TraceFinalized } from "./trace-finalized.schema.js";
import type { TraceFinalizedQueue } from "./trace-finalized-queue.js";

export interface QueueAlertDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
}

/**
 * Notes when the alert was queued, unless it is settled already: the worker may be faster than this note.
 * One probe of `alert_pkey`.
 */
const noteQueuedSql = `
  UPDATE alert SET queued_at = now()
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

/**
 * Queues an owed alert and notes that it is queued, so that the sweep leaves it alone for a while.
 * @throws QueueUnavailableError or an error of the database; the sweep will queue the alert then
 */
export async function queueAlert({ pool, queue }: QueueAlertDeps, alert: TraceFinalized): Promise<void> {
  await queue.add(alert);
  await pool.query({ name: "note-alert-queued", text: noteQueuedSql, values: [alert.accountId, alert.alertId] });
}
