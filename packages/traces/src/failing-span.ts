/** Spans of a trace to look at, those received first: as many as a trace may have. */
const maxSpans = 100_000;
/** Failing spans to compare, those received first: the innermost end first. */
const maxFailing = 10_000;

/**
 * SQL for two common table expressions. `failing` has the failing spans of the trace that `of`, a table or common table
 * expression, names by `account_id` and `trace_id`. `innermost` has the id of the one that a person wants to see first: one
 * without a failing child; of several, or in a circle of parents, the first to end, else to start. lower(), since clients'
 * parent ids keep their case. A range of `span_pkey` up to the bounds.
 */
export function failingSpanSql(of: string): string {
  return `failing AS MATERIALIZED (
    SELECT id, lower(parent_span_id) AS parent_id, started_at, ended_at
    FROM ${of} CROSS JOIN LATERAL (
      SELECT id, status, parent_span_id, started_at, ended_at FROM span
      WHERE account_id = ${of}.account_id AND trace_id = ${of}.trace_id ORDER BY id LIMIT ${maxSpans}
    ) AS spans
    WHERE spans.status = 'error' LIMIT ${maxFailing}
  ), innermost AS (
    SELECT id FROM failing f
    ORDER BY f.id::text IN (SELECT parent_id FROM failing WHERE parent_id IS NOT NULL AND parent_id <> id::text),
      COALESCE(f.ended_at, f.started_at), f.started_at, f.id
    LIMIT 1
  )`;
}
