import type pg from "pg";

/**
 * Removes a trace with its spans and the mails still owed for it, all or nothing. The trace's row is locked, so that of
 * concurrent deletions one finds it. What a concurrent write leaves goes with retention, and the worker sends no mail for
 * a trace that is gone. One probe of `trace_pkey`, one range of `span_pkey`, and `alert_owed_idx`, which holds only what is
 * owed.
 */
const deleteTraceSql = `
  WITH gone AS (
    DELETE FROM trace WHERE account_id = $1 AND id = $2 RETURNING id
  ), spans AS (
    DELETE FROM span USING gone WHERE span.account_id = $1 AND span.trace_id = gone.id
  ), alerts AS (
    DELETE FROM alert USING gone
    WHERE alert.account_id = $1 AND alert.trace_id = gone.id AND alert.sent_at IS NULL AND alert.failed_at IS NULL
  )
  SELECT FROM gone`;

/** Removes an account's trace; false where the account has none with that id. */
export async function deleteTrace(pool: pg.Pool, accountId: string, traceId: string): Promise<boolean> {
  const values = [accountId, traceId];
  const { rowCount } = await pool.query({ name: "delete-trace", text: deleteTraceSql, values });
  return rowCount === 1;
}
