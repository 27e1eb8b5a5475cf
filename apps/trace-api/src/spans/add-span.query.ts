import type pg from "pg";
import type { Gather } from "../gather.js";
import type { NewSpan } from "./span.schema.js";

export interface SpanToAdd {
  accountId: string;
  traceId: string;
  spanId: string;
  span: NewSpan;
}

/**
 * Stores each span where its account has the trace, otherwise not, and tells which were stored. One probe each of
 * `trace_pkey` and `span_pkey` for a span. No foreign key: its lock on the trace's row would make spans of one trace wait
 * for each other; deleting a trace deletes the range of its spans.
 */
const insertSpansSql = `
  INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
  SELECT account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::json[],
    $9::json[], $10::text[], $11::text[])
    AS s (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
  WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = s.account_id AND t.id = s.trace_id)
  RETURNING id`;

/** Adds spans to traces; the result is false where the account has no such trace. */
export function createSpanStore({ pool, gather }: { pool: pg.Pool; gather: Gather }) {
  return gather<SpanToAdd, boolean>({
    name: "add-span",
    run: (spans) => insertSpans(pool, spans),
    bytesOf: ({ span }) => (span.input?.text.length ?? 0) + (span.output?.text.length ?? 0) + (span.error?.length ?? 0),
  });
}

async function insertSpans(pool: pg.Pool, spans: readonly SpanToAdd[]): Promise<boolean[]> {
  const { rows } = await pool.query<[string]>({
    name: "insert-spans",
    text: insertSpansSql,
    rowMode: "array",
    values: [
      spans.map(({ accountId }) => accountId),
      spans.map(({ traceId }) => traceId),
      spans.map(({ spanId }) => spanId),
      spans.map(({ span }) => span.name),
      spans.map(({ span }) => span.status),
      spans.map(({ span }) => span.started_at),
      spans.map(({ span }) => span.ended_at),
      spans.map(({ span }) => span.input?.text),
      spans.map(({ span }) => span.output?.text),
      spans.map(({ span }) => span.error),
      spans.map(({ span }) => span.parent_span_id),
    ],
  });
  const stored = new Set(rows.map(([id]) => id));
  return spans.map(({ spanId }) => stored.has(spanId));
}
