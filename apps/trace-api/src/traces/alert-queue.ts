import { setTimeout } from "node:timers/promises";
import type { AlertKey } from "@waymark/alerts";
import { QueueUnavailableError } from "@waymark/service/queue";
import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";

/** Queues new alerts for the worker. Their rows are committed before, so its sweep finds alerts lost here. */
export interface AlertQueue {
  /** Never waits and never fails, so no client waits for a dead queue. */
  add(alert: AlertKey): void;
}

/** Alerts waiting for the queue at most; the worker's sweep finds the others. */
const maxWaiting = 10_000;

/** Alerts of one addition at most: the jobs of one statement. */
const maxAlertsTogether = 500;

/** How long a stop waits for alerts to be queued. */
const maxIdleMs = 2_000;

export interface AlertQueueDeps {
  queue: { add(alerts: readonly AlertKey[]): Promise<void> };
  registry: Registry;
  log: Logger;
}

/** Queues alerts in batches: the next addition takes all alerts that came during the last one, so a burst costs few additions. */
export function createAlertQueue({ queue, registry, log }: AlertQueueDeps) {
  const waiting: AlertKey[] = [];
  let flushing: Promise<void> | undefined;
  const left = new Counter({
    name: "waymark_alerts_left_to_sweep_total",
    help: "Alerts left to the worker's sweep: the queue refused them, or too many waited for it",
    registers: [registry],
  });
  new Gauge({
    name: "waymark_alerts_to_queue",
    help: `Alerts waiting for the queue, ${maxWaiting} at most; the worker's sweep finds the others`,
    registers: [registry],
    collect() {
      this.set(waiting.length);
    },
  });

  const flush = async () => {
    while (waiting.length > 0) {
      const alerts = waiting.splice(0, maxAlertsTogether);
      try {
        await queue.add(alerts);
      } catch (error) {
        // The others would fare the same. The queue itself logs an outage once.
        left.inc(alerts.length + waiting.splice(0).length);
        if (!(error instanceof QueueUnavailableError)) log.warn({ err: error }, "alerts left to the worker's sweep");
      }
    }
    flushing = undefined;
  };
  return {
    add(alert: AlertKey): void {
      if (waiting.length >= maxWaiting) {
        left.inc();
        return;
      }
      waiting.push(alert);
      flushing ??= Promise.resolve().then(flush);
    },
    /** Waits until all alerts are queued, two seconds at most: the worker's sweep finds the others. */
    async idle(): Promise<void> {
      const timer = new AbortController();
      const { signal } = timer;
      await Promise.race([flushing, setTimeout(maxIdleMs, undefined, { signal }).catch(() => undefined)]);
      timer.abort();
    },
  };
}
