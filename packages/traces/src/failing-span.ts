/** Failing spans to compare, those received first: the innermost end first. */
const maxFailing = 10_000;

/**
 * SQL for two common table expressions. `failing` has the failing spans of the trace that `of`, a table or common table
 * expression, names by `account_id` and `trace_id`. `innermost` has the id of the one that a person wants to see first: one
 * without a failing child; of several, or in a circle of parents, the first to end, else to start. lower(), since clients'
 * parent ids keep their case. A range of `span_pkey`: a trace has 100,000 spans at most.
 */
export function failingSpanSql(of: string): string {
  return `failing AS MATERIALIZED (
    SELECT span.id, lower(span.parent_span_id) AS parent_id, span.started_at, span.ended_at
    FROM ${of} JOIN span ON span.account_id = ${of}.account_id AND span.trace_id = ${of}.trace_id AND span.status = 'error'
    ORDER BY span.id LIMIT ${maxFailing}
  ), innermost AS (
    SELECT id FROM failing f
    ORDER BY f.id::text IN (SELECT parent_id FROM failing WHERE parent_id IS NOT NULL AND parent_id <> id::text),
      COALESCE(f.ended_at, f.started_at), f.started_at, f.id
    LIMIT 1
  )`;
}
