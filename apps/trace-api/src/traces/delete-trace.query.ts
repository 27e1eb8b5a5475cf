import type pg from "pg";

/**
 * Removes a trace with its spans, their contexts and the mails still owed for it, all or nothing. An OpenTelemetry trace
 * leaves its id behind, so that an exporter that repeats a batch does not bring it back. The trace's row is locked, so that of
 * concurrent deletions one finds it. What a concurrent write leaves goes with retention, and the worker sends no mail for
 * a trace that is gone. One probe of `trace_pkey`, one range of `trace_context_pkey` and of `span_pkey`, and `alert_owed_idx`, which holds only what is
 * owed.
 */
const deleteTraceSql = `
  WITH gone AS (
    DELETE FROM trace WHERE account_id = $1 AND id = $2 RETURNING id, otel_trace_id
  ), remembered AS (
    INSERT INTO deleted_otel_trace (account_id, otel_trace_id)
    SELECT $1, otel_trace_id FROM gone WHERE otel_trace_id IS NOT NULL
    ON CONFLICT (account_id, otel_trace_id) DO UPDATE SET deleted_at = now()
  ), contexts AS (
    DELETE FROM trace_context WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
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
