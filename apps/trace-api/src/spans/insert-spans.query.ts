import type pg from "pg";
import { insertOneSpan, isOneSpan } from "./insert-one-span.query.js";
import {
  type AddSpansResult,
  attributeValues,
  hasAttributes,
  insertFoundSpansSql,
  type SpansToAdd,
  spanValues,
} from "./span-row.js";

/**
 * Stores the spans of each request to a trace of its account, and returns the positions of these requests. One probe of
 * `trace_pkey` per request. Without a foreign key, because its lock on the trace's row would make spans of one trace wait
 * for each other; deleting a trace deletes the range of its spans.
 */
const insertSpansSql = (attributes?: number) => `
  WITH found AS MATERIALIZED (
    SELECT r.position, r.account_id, r.trace_id
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id)
  ), stored AS (${insertFoundSpansSql(attributes)}
  )
  SELECT position::int FROM found`;

const plain = { name: "insert-spans", text: insertSpansSql() };
const withAttributes = { name: "insert-spans-with-attributes", text: insertSpansSql(13) };

/** Stores the spans of requests without idempotency keys in one transaction. All requests have attributes, or none. */
export async function insertSpans(pool: pg.Pool, requests: readonly SpansToAdd[]): Promise<AddSpansResult[]> {
  if (isOneSpan(requests)) return [await insertOneSpan(pool, requests[0])];
  const bringAttributes = requests.some(hasAttributes);
  const { rows } = await pool.query<[number]>({
    ...(bringAttributes ? withAttributes : plain),
    rowMode: "array",
    values: [...spanValues(requests), ...(bringAttributes ? attributeValues(requests) : [])],
  });
  const stored = new Set(rows.map(([position]) => position));
  return requests.map(({ spans }, index) =>
    stored.has(index + 1) ? { outcome: "stored", ids: spans.map(({ id }) => id) } : { outcome: "trace_not_found" },
  );
}
