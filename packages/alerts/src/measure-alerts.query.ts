import type pg from "pg";

/** Pending alerts have a mail of their own; held ones wait for a summary, or their summary is unsent. Ages are 0 if none is. */
interface AlertFigures {
  pending: number;
  oldestSeconds: number;
  oldestHeldSeconds: number;
}

// Reads all of `alert_owed_idx`, `alert_held_idx` and `alert_summary_owed_idx`; they hold pending rows only.
const measureSql = `
  SELECT own.pending::int, COALESCE(extract(epoch FROM now() - own.oldest), 0)::float8 AS "oldestSeconds",
    COALESCE(extract(epoch FROM now() - LEAST(
      (SELECT min(created_at) FROM alert
        WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL AND summary_id IS NULL),
      (SELECT min(created_at) FROM alert_summary WHERE sent_at IS NULL AND failed_at IS NULL)
    )), 0)::float8 AS "oldestHeldSeconds"
  FROM (
    SELECT count(*) AS pending, min(created_at) AS oldest FROM alert
    WHERE sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL
  ) AS own`;

export async function measureAlerts(pool: pg.Pool): Promise<AlertFigures> {
  const { rows } = await pool.query<AlertFigures>(measureSql);
  return rows[0] ?? { pending: 0, oldestSeconds: 0, oldestHeldSeconds: 0 };
}
