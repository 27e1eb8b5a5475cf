import { setTimeout } from "node:timers/promises";
import { type AlertKey, maxAlertsTogether } from "@waymark/alerts";
import { QueueUnavailableError } from "@waymark/queue";
import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";

/** Queues new alerts for the worker. Their rows are committed before, so its sweep finds whatever is lost here. */
export interface AlertQueue {
  /** Never waits and never fails: a queue that is down must not keep a client waiting. */
  add(alert: AlertKey): void;
}

/** Alerts that wait to be queued at most; the worker's sweep finds those beyond. */
const maxWaiting = 10_000;

/** How long a stop waits for alerts to be queued. */
const maxIdleMs = 2_000;

export interface AlertQueueDeps {
  /** Queues alerts by one addition; rejects where the queue does not take them. */
  queueAlerts(alerts: readonly AlertKey[]): Promise<void>;
  registry: Registry;
  log: Logger;
}

/**
 * Queues alerts in groups: those that come while an addition is under way go out together in the next one, so that a burst
 * of failures costs a few additions, not one each.
 */
export function createAlertQueue({ queueAlerts, registry, log }: AlertQueueDeps) {
  const waiting: AlertKey[] = [];
  let flushing: Promise<void> | undefined;
  const left = new Counter({
    name: "waymark_alerts_left_to_sweep_total",
    help: "Alerts that the worker's sweep has to find: the queue did not take them, or too many waited for it",
    registers: [registry],
  });
  new Gauge({
    name: "waymark_alerts_to_queue",
    help: `Alerts that wait to be queued; ${maxWaiting} at most, beyond them the worker's sweep finds them`,
    registers: [registry],
    collect() {
      this.set(waiting.length);
    },
  });

  const flush = async () => {
    while (waiting.length > 0) {
      const alerts = waiting.splice(0, maxAlertsTogether);
      try {
        await queueAlerts(alerts);
      } catch (error) {
        // The others would fare the same. The queue itself logs once that its server is down.
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
    /** Waits until nothing waits any more, two seconds at most: the worker's sweep finds what is left. */
    async idle(): Promise<void> {
      const timer = new AbortController();
      const { signal } = timer;
      await Promise.race([flushing, setTimeout(maxIdleMs, undefined, { signal }).catch(() => undefined)]);
      timer.abort();
    },
  };
}
