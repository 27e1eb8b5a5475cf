import type pg from "pg";

/** Months before and after this range stay in the default partition: a wrong clock must not make partitions without end. */
const firstMonth = "1995-01";
const monthsAhead = 2;

/** Makes the partitions of months where they are missing; see the function in the migration. */
const ensureSql = `
  SELECT ensure_event_partition((month || '-01')::date) FROM unnest($1::text[]) AS months (month) ORDER BY month`;

/** Makes sure that events of a month go into its own partition. */
export interface Partitions {
  /** @param days UTC days as `YYYY-MM-DD` */
  ensure(days: Iterable<string>): Promise<void>;
}

/** Partitions of `event`, each asked for once by a process. */
export function createPartitions(pool: pg.Pool, now: () => number = Date.now): Partitions {
  const known = new Set<string>();
  return {
    async ensure(days) {
      const latest = new Date(now());
      latest.setUTCMonth(latest.getUTCMonth() + monthsAhead, 1);
      const last = latest.toISOString().slice(0, 7);
      const months = new Set([...days].map((day) => day.slice(0, 7)));
      const missing = [...months].filter((month) => !known.has(month) && month >= firstMonth && month <= last);
      if (missing.length === 0) return;
      await pool.query(ensureSql, [missing]);
      for (const month of missing) known.add(month);
    },
  };
}
