import { failingSpanSql } from "@waymark/traces";
import type pg from "pg";
import type { AlertKey } from "./alert-rule.js";
import { type Attempt, attemptValues, noteAttemptSql } from "./attempt.js";
import { type OwedTrace, type OwedTraceRow, owedTraceColumnsSql, owedTraceJoinsSql, splitOwed } from "./owed-trace.js";

interface OwedAlert {
  status: "error" | "timeout";
  /** Null where the account is gone. */
  email: string | null;
  attempts: number;
  /** Failures of the trace since its last mail. */
  failures: number;
}

// A pending alert with the account's address and its trace. A probe of `alert_pkey`.
const readPendingAlertSql = `
  WITH owed AS (
    SELECT account_id, trace_id, status, attempts, failures FROM alert
    WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL
  ), ${failingSpanSql("owed")}
  SELECT owed.status, account.email, owed.attempts, owed.failures, ${owedTraceColumnsSql}
  FROM owed ${owedTraceJoinsSql}`;

/** The alert with its trace, null where it was deleted; undefined if it is settled or gone. */
export async function readPendingAlert(
  pool: pg.Pool,
  alert: AlertKey,
): Promise<(OwedAlert & { trace: OwedTrace | null }) | undefined> {
  const statement = { name: "read-pending-alert", text: readPendingAlertSql, values: [alert.accountId, alert.alertId] };
  const { rows } = await pool.query<OwedAlert & OwedTraceRow>(statement);
  if (!rows[0]) return undefined;
  const { owed, trace } = splitOwed<OwedAlert>(rows[0]);
  return { ...owed, trace };
}

// Writes down an attempt, unless another one settled the alert meanwhile. One probe of `alert_pkey`.
const settleAlertSql = `
  UPDATE alert SET ${noteAttemptSql}
  WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL`;

export async function settleAlert(pool: pg.Pool, alert: AlertKey, attempt: Attempt): Promise<void> {
  const values = [alert.accountId, alert.alertId, ...attemptValues(attempt)];
  await pool.query({ name: "settle-alert", text: settleAlertSql, values });
}
