import { maxAlertsTogether, queueAlerts } from "@waymark/alerts";
import { QueueUnavailableError, type TraceFinalizedQueue } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { findUnqueuedAlerts } from "./find-unqueued-alerts.query.js";

export interface SweepDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
  log: Logger;
}

/**
 * Queues alerts that are owed and not in the queue: its server was down when they came to be, or lost them since. Queuing one
 * that is there already changes nothing.
 */
export function createSweepAlerts({ pool, queue, log }: SweepDeps): () => Promise<{ queued: number }> {
  return async () => {
    // One addition; the next round goes on.
    const alerts = await findUnqueuedAlerts(pool, maxAlertsTogether);
    try {
      await queueAlerts({ pool, queue }, alerts);
    } catch (error) {
      // The queue itself says once that its server is down; the next round tries again.
      if (!(error instanceof QueueUnavailableError)) throw error;
      return { queued: 0 };
    }
    if (alerts.length > 0) log.info({ queued: alerts.length }, "owed alerts queued");
    return { queued: alerts.length };
  };
}
