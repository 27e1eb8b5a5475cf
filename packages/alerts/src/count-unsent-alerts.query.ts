import type pg from "pg";

/** Beyond the pauses of a first failed attempt. */
const lateMinutes = 10;

/** Reads the newest 1,000 alerts of `alert_pkey` at most. Held alerts are in time: a summary follows. */
const countUnsentSql = `
  SELECT count(*)::int AS count
  FROM (
    SELECT sent_at, failed_at, held_until, created_at FROM alert WHERE account_id = $1 ORDER BY id DESC LIMIT 1000
  ) AS newest
  WHERE sent_at IS NULL AND (failed_at IS NOT NULL OR
    held_until IS NULL AND created_at < now() - make_interval(mins => ${lateMinutes}))`;

/** How many of an account's mails did not go out: failed for good, or pending for more than ten minutes. */
export async function countUnsentAlerts(pool: pg.Pool, accountId: string): Promise<number> {
  const statement = { name: "count-unsent-alerts", text: countUnsentSql, values: [accountId] };
  const { rows } = await pool.query<{ count: number }>(statement);
  return rows[0]?.count ?? 0;
}
