import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";

/** An alert that is still owed, and what its mail says. */
export interface OwedAlert {
  status: "error" | "timeout";
  email: string;
  attempts: number;
  /** Null where the trace was deleted, or retention removed it, before the mail went out. */
  trace: {
    id: string;
    agentId: string;
    name: string;
    durationMs: number | null;
    failedSpan: { name: string; error: string | null } | null;
  } | null;
}

interface Row {
  status: "error" | "timeout";
  email: string;
  attempts: number;
  trace_id: string;
  agent_id: string | null;
  trace_name: string;
  duration_ms: number | null;
  span_name: string | null;
  span_error: string | null;
}

/**
 * The alert as long as it is owed, with the account's address, the trace and its first failing span. Texts are cut: a mail
 * shows a few lines, and an error may be megabytes long. Probes of the primary keys of alert, account and trace; the spans
 * of one trace are one range of `span_pkey`.
 */
const findOwedAlertSql = `
  SELECT alert.status, account.email, alert.attempts, alert.trace_id, trace.agent_id, trace.name AS trace_name,
    extract(epoch FROM trace.ended_at - trace.started_at)::float8 * 1000 AS duration_ms,
    failed.name AS span_name, left(failed.error, 4000) AS span_error
  FROM alert
  JOIN account ON account.id = alert.account_id
  LEFT JOIN trace ON trace.account_id = alert.account_id AND trace.id = alert.trace_id
  LEFT JOIN LATERAL (
    SELECT name, error FROM span
    WHERE account_id = alert.account_id AND trace_id = alert.trace_id AND status = 'error'
    ORDER BY started_at, id LIMIT 1
  ) AS failed ON trace.id IS NOT NULL
  WHERE alert.account_id = $1 AND alert.id = $2 AND alert.sent_at IS NULL AND alert.failed_at IS NULL`;

/** The alert, or undefined where there is none or it is settled. */
export async function findOwedAlert(pool: pg.Pool, alert: TraceFinalized): Promise<OwedAlert | undefined> {
  const values = [alert.accountId, alert.alertId];
  const { rows } = await pool.query<Row>({ name: "find-owed-alert", text: findOwedAlertSql, values });
  const [row] = rows;
  if (!row) return undefined;
  const { status, email, attempts } = row;
  if (row.agent_id === null) return { status, email, attempts, trace: null };
  const trace = {
    id: row.trace_id,
    agentId: row.agent_id,
    name: row.trace_name,
    durationMs: row.duration_ms,
    failedSpan: row.span_name === null ? null : { name: row.span_name, error: row.span_error },
  };
  return { status, email, attempts, trace };
}
