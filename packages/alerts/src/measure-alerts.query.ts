import type pg from "pg";

/** Pending alerts have a mail of their own; held ones wait for a summary, or their summary is unsent. Ages are 0 if none is. */
interface AlertFigures {
  pending: number;
  oldestSeconds: number;
  oldestHeldSeconds: number;
}

// Reads all of `alert_owed_idx`, `alert_held_idx` and `delivery_summary_idx`; they hold pending rows only.
const measureSql = `
  SELECT own.pending::int, COALESCE(extract(epoch FROM now() - own.oldest), 0)::float8 AS "oldestSeconds",
    COALESCE(extract(epoch FROM now() - LEAST(
      (SELECT min(created_at) FROM alert
        WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL),
      (SELECT min(begun_at) FROM delivery
        WHERE channel_id = account_id AND type = 'digest' AND agent_id = '' AND sent_at IS NULL AND failed_at IS NULL)
    )), 0)::float8 AS "oldestHeldSeconds"
  FROM (
    SELECT count(*) AS pending, min(created_at) AS oldest FROM alert
    WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL
  ) AS own`;

export async function measureAlerts(pool: pg.Pool): Promise<AlertFigures> {
  const { rows } = await pool.query<AlertFigures>(measureSql);
  return rows[0] ?? { pending: 0, oldestSeconds: 0, oldestHeldSeconds: 0 };
}

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
