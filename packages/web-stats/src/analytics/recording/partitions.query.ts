import { tryTransaction } from "@waymark/database";
import type pg from "pg";

/** Months outside this range stay in the default partition: a wrong clock must not make partitions without end. */
const firstMonth = "1995-01";
const monthsAhead = 2;

/** Waits for other transactions, then pauses. */
const lockTimeoutMs = 1_000;
const retryMs = 60_000;

/** Makes missing partitions of months, oldest first (migrations, function `ensure_event_partition`). */
const ensureSql = `
  SELECT ensure_event_partition((month || '-01')::date) FROM unnest($1::text[]) AS months (month) ORDER BY month`;

/** Makes the partitions for events of months. While a transaction is in the way, events go into the default partition. */
export interface Partitions {
  /** @param days UTC days as `YYYY-MM-DD` */
  ensure(days: Iterable<string>): Promise<void>;
}

/** Asks for each partition of `event` once per process. */
export function createPartitions(pool: pg.Pool, now: () => number = Date.now): Partitions {
  const known = new Set<string>();
  let pausedUntil = 0;
  return {
    async ensure(days) {
      const latest = new Date(now());
      latest.setUTCMonth(latest.getUTCMonth() + monthsAhead, 1);
      const last = latest.toISOString().slice(0, 7);
      const months = new Set([...days].map((day) => day.slice(0, 7)));
      const missing = [...months].filter((month) => !known.has(month) && month >= firstMonth && month <= last);
      if (missing.length === 0 || now() < pausedUntil) return;
      const make = (client: pg.PoolClient) => client.query(ensureSql, [missing]);
      if (await tryTransaction(pool, lockTimeoutMs, make)) for (const month of missing) known.add(month);
      else pausedUntil = now() + retryMs;
    },
  };
}
