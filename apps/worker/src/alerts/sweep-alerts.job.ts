import { type AlertKey, findUnqueuedAlerts, maxAlertsTogether, queueAlerts } from "@waymark/alerts";
import { type JobQueue, QueueUnavailableError } from "@waymark/service/queue";
import type pg from "pg";
import type { Logger } from "pino";

interface SweepDeps {
  pool: pg.Pool;
  queue: SweptQueue;
  log: Logger;
}

/** The used part of the queue. */
export type SweptQueue = Pick<JobQueue<AlertKey>, "add" | "hurry">;

/**
 * Queues pending alerts missing in the queue: its server was down when they were inserted, or has lost them since.
 * Queuing an alert twice changes nothing. By the database's clock all of them are due, so none waits in the queue.
 */
export function createSweepAlerts({ pool, queue, log }: SweepDeps): () => Promise<{ queued: number }> {
  return async () => {
    // One addition; the next round continues.
    const alerts = await findUnqueuedAlerts(pool, maxAlertsTogether);
    try {
      await queueAlerts({ pool, queue }, alerts);
      await queue.hurry(alerts);
    } catch (error) {
      // The queue logs the outage once; the next round tries again.
      if (!(error instanceof QueueUnavailableError)) throw error;
      return { queued: 0 };
    }
    if (alerts.length > 0) log.info({ queued: alerts.length }, "pending alerts queued");
    return { queued: alerts.length };
  };
}
