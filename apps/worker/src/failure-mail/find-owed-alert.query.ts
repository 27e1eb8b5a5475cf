import type { TraceFinalized } from "@waymark/queue";
import type pg from "pg";

/** An alert that is still owed, and what its mail says. */
export interface OwedAlert {
  status: "error" | "timeout";
  /** Null where the account is gone. */
  email: string | null;
  attempts: number;
  /** How many failures of the trace it stands for. */
  failures: number;
  /** Null where the trace was deleted, or retention removed it, before the mail went out. */
  trace: {
    id: string;
    agentId: string;
    name: string;
    /** Null where it is outside of what a Date holds. */
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

/** Spans of a trace that are looked at: as many as a trace may have; of one with more, those received first. */
const maxSpans = 100_000;
/** Failing spans among which the innermost is sought: those received first, since the innermost end first. */
const maxFailing = 10_000;

/**
 * The alert as long as it is owed, with the account's address, the trace and its innermost failing span: one without a
 * failing child, of several the one that ended first (a span without an end counts by its start). Where parents form a
 * circle, the failing span that ended first. Parents are kept as given, so they are compared in lower case. Texts are cut: a
 * mail shows a few lines, and an error may be megabytes long; only the chosen span's is read. Probes of the primary keys of
 * alert, account and trace; the spans of one trace are one range of `span_pkey`, read up to the bounds above.
 */
const findOwedAlertSql = `
  WITH owed AS (
    SELECT account_id, trace_id, status, attempts, failures FROM alert
    WHERE account_id = $1 AND id = $2 AND sent_at IS NULL AND failed_at IS NULL
  ), failing AS MATERIALIZED (
    SELECT id, lower(parent_span_id) AS parent_id, started_at, ended_at
    FROM owed CROSS JOIN LATERAL (
      SELECT id, status, parent_span_id, started_at, ended_at FROM span
      WHERE account_id = owed.account_id AND trace_id = owed.trace_id ORDER BY id LIMIT ${maxSpans}
    ) AS spans
    WHERE spans.status = 'error' LIMIT ${maxFailing}
  ), innermost AS (
    SELECT id FROM failing f
    ORDER BY f.id::text IN (SELECT parent_id FROM failing WHERE parent_id IS NOT NULL AND parent_id <> id::text),
      COALESCE(f.ended_at, f.started_at), f.started_at, f.id
    LIMIT 1
  )
  SELECT owed.status, account.email, owed.attempts, owed.failures, owed.trace_id, trace.agent_id, trace.name AS trace_name,
    extract(epoch FROM trace.started_at)::float8 * 1000 AS started_ms,
    extract(epoch FROM trace.ended_at - trace.started_at)::float8 * 1000 AS duration_ms,
    span.name AS span_name, left(span.error, 4000) AS span_error
  FROM owed
  LEFT JOIN account ON account.id = owed.account_id
  LEFT JOIN trace ON trace.account_id = owed.account_id AND trace.id = owed.trace_id
  LEFT JOIN span ON span.account_id = trace.account_id AND span.trace_id = trace.id
    AND span.id = (SELECT id FROM innermost)`;

/** The alert, or undefined where there is none or it is settled. */
export async function findOwedAlert(pool: pg.Pool, alert: TraceFinalized): Promise<OwedAlert | undefined> {
  const values = [alert.accountId, alert.alertId];
  const { rows } = await pool.query<Row>({ name: "find-owed-alert", text: findOwedAlertSql, values });
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
