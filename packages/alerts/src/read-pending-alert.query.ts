import { failingSpanSql } from "@waymark/traces";
import type pg from "pg";
import type { AlertKey } from "./alert-key.js";

export interface PendingAlert {
  status: "error" | "timeout";
  /** Null where the account is gone. */
  email: string | null;
  attempts: number;
  /** Failures of the trace since its last mail. */
  failures: number;
  /** Null where a DELETE or retention removed the trace before the mail went out. */
  trace: {
    id: string;
    agentId: string;
    name: string;
    /** Null where a Date cannot hold it. */
    startedAt: Date | null;
    durationMs: number | null;
    failedSpan: { name: string; error: string | null } | null;
  } | null;
}

interface Row {
  status: "error" | "timeout";
  email: string | null;
  attempts: number;
  failures: number;
  trace_id: string;
  agent_id: string | null;
  trace_name: string;
  started_ms: number;
  duration_ms: number | null;
  span_name: string | null;
  span_error: string | null;
}

// A pending alert with the account's address, the trace and its innermost failing span. Cuts texts: an error may be megabytes
// long. Probes of `alert_pkey`, `account_pkey`, `trace_pkey`; a range of `span_pkey` within bounds.
const readPendingAlertSql = `
  WITH pending AS (
    SELECT account_id, trace_id, status, attempts, failures FROM alert
    WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL
  ), ${failingSpanSql("pending")}
  SELECT pending.status, account.email, pending.attempts, pending.failures, pending.trace_id, trace.agent_id, trace.name AS trace_name,
    extract(epoch FROM trace.started_at)::float8 * 1000 AS started_ms,
    extract(epoch FROM trace.ended_at - trace.started_at)::float8 * 1000 AS duration_ms,
    span.name AS span_name, left(span.error, 4000) AS span_error
  FROM pending
  LEFT JOIN account ON account.id = pending.account_id
  LEFT JOIN trace ON trace.account_id = pending.account_id AND trace.id = pending.trace_id
  LEFT JOIN span ON span.account_id = trace.account_id AND span.trace_id = trace.id
    AND span.id = (SELECT id FROM innermost)`;

/** The alert with its trace and address; undefined if it is settled or gone. */
export async function readPendingAlert(pool: pg.Pool, alert: AlertKey): Promise<PendingAlert | undefined> {
  const values = [alert.accountId, alert.alertId];
  const { rows } = await pool.query<Row>({ name: "read-pending-alert", text: readPendingAlertSql, values });
  const [row] = rows;
  if (!row) return undefined;
  const { status, email, attempts, failures } = row;
  if (row.agent_id === null) return { status, email, attempts, failures, trace: null };
  const startedAt = new Date(row.started_ms);
  const trace = {
    id: row.trace_id,
    agentId: row.agent_id,
    name: row.trace_name,
    startedAt: Number.isNaN(startedAt.getTime()) ? null : startedAt,
    durationMs: row.duration_ms,
    failedSpan: row.span_name === null ? null : { name: row.span_name, error: row.span_error },
  };
  return { status, email, attempts, failures, trace };
}
