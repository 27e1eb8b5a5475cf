import type pg from "pg";
import type { NewSpan } from "./span.schema.js";

export interface SpanToAdd {
  accountId: string;
  traceId: string;
  spanId: string;
  span: NewSpan;
}

/**
 * Stores a span where the account has the trace, otherwise nothing. One probe each of `trace_pkey` and `span_pkey`. No
 * foreign key: its lock on the trace's row would make spans of one trace wait for each other; deleting a trace deletes
 * the range of its spans.
 */
const insertSpanSql = `
  INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM trace WHERE account_id = $1 AND id = $2`;

/** Adds a span to the account's trace; false where the account has no such trace. */
export async function addSpan(pool: pg.Pool, { accountId, traceId, spanId, span }: SpanToAdd): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "insert-span",
    text: insertSpanSql,
    values: [
      accountId,
      traceId,
      spanId,
      span.name,
      span.status,
      span.started_at,
      span.ended_at ?? null,
      span.input?.text ?? null,
      span.output?.text ?? null,
      span.error ?? null,
      span.parent_span_id ?? null,
    ],
  });
  return rowCount === 1;
}
