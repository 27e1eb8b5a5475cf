import type pg from "pg";
import { type AddSpansResult, insertFoundSpansSql, type SpansToAdd, spanValues } from "./span-row.js";

/**
 * Stores the spans of each request to a trace of its account, and returns the positions of these requests. One probe of
 * `trace_pkey` per request. Without a foreign key, because its lock on the trace's row would make spans of one trace wait
 * for each other; deleting a trace deletes the range of its spans.
 */
const insertSpansSql = `
  WITH found AS MATERIALIZED (
    SELECT r.position, r.account_id, r.trace_id
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id)
  ), stored AS (${insertFoundSpansSql}
  )
  SELECT position::int FROM found`;

/** Stores the spans of requests without idempotency keys in one transaction. */
export async function insertSpans(pool: pg.Pool, requests: readonly SpansToAdd[]): Promise<AddSpansResult[]> {
  const { rows } = await pool.query<[number]>({
    name: "insert-spans",
    text: insertSpansSql,
    rowMode: "array",
    values: spanValues(requests),
  });
  const stored = new Set(rows.map(([position]) => position));
  return requests.map(({ spans }, index) =>
    stored.has(index + 1) ? { outcome: "stored", ids: spans.map(({ id }) => id) } : { outcome: "trace_not_found" },
  );
}
