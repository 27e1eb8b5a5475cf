import { findUnqueuedAlerts, maxAlertsTogether, type QueueAlertsDeps, queueAlerts } from "@waymark/alerts";
import { QueueUnavailableError } from "@waymark/queue";
import type { Logger } from "pino";

interface SweepDeps extends QueueAlertsDeps {
  log: Logger;
}

/**
 * Queues pending alerts missing in the queue: its server was down when they were inserted, or has lost them since.
 * Queuing an alert twice changes nothing.
 */
export function createSweepAlerts({ pool, queue, log }: SweepDeps): () => Promise<{ queued: number }> {
  return async () => {
    // One addition; the next round continues.
    const alerts = await findUnqueuedAlerts(pool, maxAlertsTogether);
    try {
      await queueAlerts({ pool, queue }, alerts);
    } catch (error) {
      // The queue logs the outage once; the next round tries again.
      if (!(error instanceof QueueUnavailableError)) throw error;
      return { queued: 0 };
    }
    if (alerts.length > 0) log.info({ queued: alerts.length }, "pending alerts queued");
    return { queued: alerts.length };
  };
}
