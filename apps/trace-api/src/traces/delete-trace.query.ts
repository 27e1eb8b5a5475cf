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
    DELETE FROM span WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), alerts AS (
    DELETE FROM alert
    WHERE account_id = $1 AND trace_id = $2 AND sent_at IS NULL AND failed_at IS NULL AND EXISTS (SELECT FROM gone)
  )
  SELECT FROM gone`;

/** The statement for {@link deleteTrace}. */
export function deleteTraceStatement(accountId: string, traceId: string) {
  return { name: "delete-trace", text: deleteTraceSql, values: [accountId, traceId] };
}

/** Removes an account's trace; false where the account has none with that id. */
export async function deleteTrace(pool: pg.Pool, accountId: string, traceId: string): Promise<boolean> {
  const { rowCount } = await pool.query(deleteTraceStatement(accountId, traceId));
  return rowCount === 1;
}
