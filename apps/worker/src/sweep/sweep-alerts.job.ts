import { QueueUnavailableError, queueAlert, type TraceFinalizedQueue } from "@waymark/queue";
import type pg from "pg";
import type { Logger } from "pino";
import { findUnqueuedAlerts } from "./find-unqueued-alerts.query.js";

export interface SweepDeps {
  pool: pg.Pool;
  queue: Pick<TraceFinalizedQueue, "add">;
  log: Logger;
}

/** Alerts queued by one round at most; the next round goes on. */
const batch = 500;

/**
 * Queues alerts that are owed and not in the queue: its server was down when they came to be, or lost them since. Queuing one
 * that is there already changes nothing.
 */
export function createSweepAlerts({ pool, queue, log }: SweepDeps): () => Promise<{ queued: number }> {
  return async () => {
    const alerts = await findUnqueuedAlerts(pool, batch);
    let queued = 0;
    try {
      for (const alert of alerts) {
        await queueAlert({ pool, queue }, alert);
        queued++;
      }
    } catch (error) {
      // The queue itself says once that its server is down; the next round tries again.
      if (!(error instanceof QueueUnavailableError)) throw error;
    }
    if (queued > 0) log.info({ queued }, "owed alerts queued");
    return { queued };
  };
}
