import type pg from "pg";
import { Counter, Gauge, type Registry } from "prom-client";

/** What the worker counts for its operator. */
export interface WorkerMetrics {
  countMail(outcome: "sent" | "deferred" | "failed"): void;
}

/** Alerts that are owed, by a read of `alert_owed_idx`, and those that failed for good and were not retried. */
const owedAlertsSql = `
  SELECT count(*) AS owed, COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
  FROM alert WHERE sent_at IS NULL AND failed_at IS NULL`;

/** Registers the worker's own figures. An age of owed alerts that grows means that mails do not go out. */
export function createWorkerMetrics(registry: Registry, pool: pg.Pool): WorkerMetrics {
  const mails = new Counter({
    name: "waymark_failure_mails_total",
    help: "Attempts to send a failure mail by outcome: sent, deferred (tried again later), failed (given up)",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const age = new Gauge({
    name: "waymark_alerts_owed_oldest_seconds",
    help: "Age of the oldest alert whose mail is owed, 0 where none is",
    registers: [registry],
  });
  new Gauge({
    name: "waymark_alerts_owed",
    help: "Alerts whose mail is owed",
    registers: [registry],
    async collect() {
      const { rows } = await pool.query<{ owed: number; oldestSeconds: number }>(owedAlertsSql);
      this.set(rows[0]?.owed ?? 0);
      age.set(rows[0]?.oldestSeconds ?? 0);
    },
  });
  return { countMail: (outcome) => mails.inc({ outcome }) };
}
