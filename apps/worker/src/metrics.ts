import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Counter, Gauge, type Registry } from "prom-client";

/** What the worker counts for its operator. */
export interface WorkerMetrics {
  countMail(outcome: "sent" | "deferred" | "failed"): void;
  countSummary(outcome: "sent" | "deferred" | "failed"): void;
  /** Counts alerts whose own mails the limits kept back. */
  countHeld(alerts: number): void;
}

/** Alerts that are owed a mail of their own, by a read of `alert_owed_idx`; those that wait for a summary are not late. */
const owedAlertsSql = `
  SELECT count(*) AS owed, COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
  FROM alert WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL`;

/** Metrics do not wait longer for the database: they are wanted most when it hangs. */
const collectTimeoutMs = 1_000;

/** Registers the worker's own figures. An age of owed alerts that grows means that mails do not go out. */
export function createWorkerMetrics(registry: Registry, pool: pg.Pool): WorkerMetrics {
  const mails = new Counter({
    name: "waymark_failure_mails_total",
    help: "Attempts to send a failure mail by outcome: sent, deferred (tried again later), failed (given up)",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const summaries = new Counter({
    name: "waymark_failure_summaries_total",
    help: "Attempts to send a summary of failed runs by outcome: sent, deferred (tried again later), failed (given up)",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const held = new Counter({
    name: "waymark_failure_mails_held_total",
    help: "Alerts above the limits of mails, of which a summary tells",
    registers: [registry],
  });
  const age = new Gauge({
    name: "waymark_alerts_owed_oldest_seconds",
    help: "Age of the oldest alert whose mail is owed, 0 where none is",
    registers: [registry],
  });
  let asking: Promise<void> | undefined;
  new Gauge({
    name: "waymark_alerts_owed",
    help: "Alerts whose mail is owed, as far as the database has answered",
    registers: [registry],
    async collect() {
      asking ??= readOwed(pool)
        .then(({ owed, oldestSeconds }) => {
          this.set(owed);
          age.set(oldestSeconds);
        })
        // The figures stay what they were; readiness and the log tell of the database.
        .catch(() => undefined)
        .finally(() => {
          asking = undefined;
        });
      await Promise.race([asking, sleep(collectTimeoutMs, undefined, { ref: false })]);
    },
  });
  return {
    countMail: (outcome) => mails.inc({ outcome }),
    countSummary: (outcome) => summaries.inc({ outcome }),
    countHeld: (alerts) => held.inc(alerts),
  };
}

async function readOwed(pool: pg.Pool): Promise<{ owed: number; oldestSeconds: number }> {
  const { rows } = await pool.query<{ owed: number; oldestSeconds: number }>(owedAlertsSql);
  return rows[0] ?? { owed: 0, oldestSeconds: 0 };
}
