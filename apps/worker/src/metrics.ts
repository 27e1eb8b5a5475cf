import { setTimeout as sleep } from "node:timers/promises";
import { type DeliverySort, measureAlerts } from "@waymark/alerts";
import { readBackupAge } from "@waymark/database";
import type pg from "pg";
import { Counter, Gauge, type Registry } from "prom-client";

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>;

/** Metrics do not wait longer for the database: an operator needs them most when it hangs. */
const collectTimeoutMs = 1_000;

/** Registers the worker's own metrics. A growing age of pending alerts means: mails do not go out. */
export function createWorkerMetrics(registry: Registry, pool: pg.Pool) {
  const registers = [registry];
  const attemptsAt = (name: string, what: string) => {
    const help = `Attempts to ${what} by outcome: sent, deferred (tried again later), failed (given up)`;
    return new Counter({ name, help, labelNames: ["outcome"], registers });
  };
  const attempts: Record<DeliverySort, Counter> = {
    alert: attemptsAt("waymark_failure_mails_total", "send an alert's mail"),
    summary: attemptsAt("waymark_failure_summaries_total", "send a summary of alerts"),
    event: attemptsAt("waymark_deliveries_total", "deliver an event to a channel"),
  };
  const held = new Counter({
    name: "waymark_failure_mails_held_total",
    help: "Alerts above the limits of mails, which wait for a summary",
    registers,
  });
  // A series that began at 1 would hide its first failure from an alert rule.
  for (const outcome of ["sent", "deferred", "failed"]) {
    for (const counter of Object.values(attempts)) counter.inc({ outcome }, 0);
  }
  const age = new Gauge({
    name: "waymark_alerts_owed_oldest_seconds",
    help: "Age of the oldest alert that waits for a mail of its own, 0 where none does",
    registers,
  });
  const heldAge = new Gauge({
    name: "waymark_alerts_held_oldest_seconds",
    help: "Age of the oldest alert that waits for a summary, or of the oldest summary that waits to be sent, 0 where none does",
    registers,
  });
  const backupAge = new Gauge({
    name: "waymark_backup_age_seconds",
    help: "Age of the last recorded backup, or of the installation where none is recorded",
    registers,
  });
  const measure = async () => {
    const { pending, oldestSeconds, oldestHeldSeconds } = await measureAlerts(pool);
    owed.set(pending);
    age.set(oldestSeconds);
    heldAge.set(oldestHeldSeconds);
    backupAge.set((await readBackupAge(pool)).seconds);
  };
  let asking: Promise<void> | undefined;
  const owed = new Gauge({
    name: "waymark_alerts_owed",
    help: "Alerts that wait for a mail of their own, as far as the database has answered",
    registers,
    async collect() {
      asking ??= measure()
        // The figures stay as they were; readiness and the log report the database.
        .catch(() => undefined)
        .finally(() => {
          asking = undefined;
        });
      await Promise.race([asking, sleep(collectTimeoutMs, undefined, { ref: false })]);
    },
  });
  return {
    countDelivery: (sort: DeliverySort, outcome: "sent" | "deferred" | "failed") => attempts[sort].inc({ outcome }),
    countHeld: (alerts: number) => held.inc(alerts),
  };
}
