/** A trace as messages name it. */
export interface OwedTrace {
  id: string;
  agentId: string;
  name: string;
  /** Null where a Date cannot hold it. */
  startedAt: Date | null;
  endedAt: Date | null;
  durationMs: number | null;
  failedSpan: { name: string; error: string | null } | null;
}

/** Columns of the joins below. Cuts texts: an error may be megabytes long. */
export const owedTraceColumnsSql = `
    trace.id AS "traceId", trace.agent_id AS "traceAgentId", trace.name AS "traceName",
    extract(epoch FROM trace.started_at)::float8 * 1000 AS "startedMs",
    extract(epoch FROM trace.ended_at)::float8 * 1000 AS "endedMs",
    span.name AS "spanName", left(span.error, 4000) AS "spanError"`;

/**
 * Joins the account, the trace and its innermost failing span to the common table expression `owed`, after `failingSpanSql`.
 * Probes of primary keys; a range of `span_pkey` within bounds.
 */
export const owedTraceJoinsSql = `
  LEFT JOIN account ON account.id = owed.account_id
  LEFT JOIN trace ON trace.account_id = owed.account_id AND trace.id = owed.trace_id
  LEFT JOIN span ON span.account_id = trace.account_id AND span.trace_id = trace.id AND span.id = (SELECT id FROM innermost)`;

export interface OwedTraceRow {
  traceId: string | null;
  traceAgentId: string;
  traceName: string;
  startedMs: number;
  endedMs: number | null;
  spanName: string | null;
  spanError: string | null;
}

/** Splits a row into its trace, null where it was deleted, and its own columns. */
export function splitOwed<Rest>(row: Rest & OwedTraceRow): {
  trace: OwedTrace | null;
  owed: Omit<Rest, keyof OwedTraceRow>;
} {
  const { traceId, traceAgentId, traceName, startedMs, endedMs, spanName, spanError, ...owed } = row;
  if (traceId === null) return { trace: null, owed };
  const trace = {
    id: traceId,
    agentId: traceAgentId,
    name: traceName,
    startedAt: toDate(startedMs),
    endedAt: toDate(endedMs),
    durationMs: endedMs === null ? null : endedMs - startedMs,
    failedSpan: spanName === null ? null : { name: spanName, error: spanError },
  };
  return { trace, owed };
}

function toDate(ms: number | null): Date | null {
  const date = ms === null ? undefined : new Date(ms);
  return date && !Number.isNaN(date.getTime()) ? date : null;
}
