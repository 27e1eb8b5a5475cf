import type pg from "pg";
import { tryTransaction } from "./try-transaction.js";

/** Months before and after this range stay in the default partition: a wrong clock must not make partitions without end. */
const firstMonth = "1995-01";
const monthsAhead = 2;

/** How long making partitions waits for other transactions, and how long it is not tried again then, in milliseconds. */
const lockTimeoutMs = 1_000;
const retryMs = 60_000;

/** Makes the partitions of months where they are missing; see the function in the migration. */
const ensureSql = `
  SELECT ensure_event_partition((month || '-01')::date) FROM unnest($1::text[]) AS months (month) ORDER BY month`;

/** Makes events of a month go into its own partition. While another transaction is in the way, they go into the default one. */
export interface Partitions {
  /** @param days UTC days as `YYYY-MM-DD` */
  ensure(days: Iterable<string>): Promise<void>;
}

/** Partitions of `event`, each asked for once by a process. */
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
      // Where another transaction is in the way, its events may be in the default partition.
      const make = (client: pg.PoolClient) => client.query(ensureSql, [missing]);
      if (await tryTransaction(pool, lockTimeoutMs, make)) for (const month of missing) known.add(month);
      else pausedUntil = now() + retryMs;
    },
  };
}
