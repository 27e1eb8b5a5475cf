import type pg from "pg";
import type { FinalTrace } from "./trace.schema.js";

/** A change of a trace, and the mail it may owe. */
export interface TraceToFinalize {
  accountId: string;
  traceId: string;
  change: FinalTrace;
  /** The id of the alert to owe, where the new status and the plan call for a mail; otherwise null. */
  alertId: string | null;
}

/**
 * Sets what the body gave and, in the same transaction, notes the mail that this owes. `trace.alert_id` is the alert of
 * the trace's present status: the same status again keeps it, so that a retry owes nothing; another status replaces or
 * clears it, so that a later failure owes anew. Concurrent changes queue on the row lock and each sees the one before.
 * One probe of `trace_pkey`.
 */
const finalizeTraceSql = `
  WITH finalized AS (
    UPDATE trace SET
      status = COALESCE($3, status),
      ended_at = CASE WHEN $4::boolean THEN $5::timestamptz ELSE ended_at END,
      alert_id = CASE
        WHEN $3 IS NULL OR (status = $3 AND alert_id IS NOT NULL) THEN alert_id
        ELSE $6::uuid
      END
    WHERE account_id = $1 AND id = $2
    RETURNING id, status, alert_id
  ), owed AS (
    INSERT INTO alert (account_id, id, trace_id, status)
    SELECT $1, alert_id, id, status FROM finalized WHERE alert_id = $6::uuid
    RETURNING id
  )
  SELECT EXISTS (SELECT FROM finalized) AS found, EXISTS (SELECT FROM owed) AS owed`;

/** Changes a trace of the account; `owed` tells whether the alert with the given id is owed now. */
export async function finalizeTrace(pool: pg.Pool, input: TraceToFinalize): Promise<{ found: boolean; owed: boolean }> {
  const { accountId, traceId, change, alertId } = input;
  const { rows } = await pool.query<{ found: boolean; owed: boolean }>({
    name: "finalize-trace",
    text: finalizeTraceSql,
    values: [
      accountId,
      traceId,
      change.status ?? null,
      change.ended_at !== undefined,
      change.ended_at ?? null,
      alertId,
    ],
  });
  return rows[0] ?? { found: false, owed: false };
}
