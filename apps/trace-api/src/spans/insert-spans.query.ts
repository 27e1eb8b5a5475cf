import { rowIsLocked } from "@waymark/database";
import type pg from "pg";
import { keepTraceSql, type OnLock } from "../batching/on-lock.js";
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
 * Stores the spans of each request to a trace of its account, and returns the positions of these requests; of a request
 * without its trace, whether that is locked. One probe of `trace_pkey` per request. Spans without attributes lock no trace:
 * deleting a trace deletes the range of its spans, and the leftovers of a race go with retention. Those with model calls
 * keep the trace until their commit, so that a deletion books them.
 */
const insertSpansSql = (attributes?: number, onLock?: OnLock) => `
  WITH found AS MATERIALIZED (
    SELECT r.position, r.account_id, r.trace_id
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(onLock)}
  ), stored AS (${insertFoundSpansSql(attributes)}
  )
  SELECT r.position::int, CASE WHEN found.position IS NULL THEN
    EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) END
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position) LEFT JOIN found USING (position)
  ORDER BY position`;

const plain = { name: "insert-spans", text: insertSpansSql() };
const withAttributes = {
  skip: { name: "insert-spans-with-attributes", text: insertSpansSql(13, "skip") },
  wait: { name: "insert-locked-spans", text: insertSpansSql(13, "wait") },
} as const;

/** Stores the spans of requests without idempotency keys in one transaction. All requests have attributes, or none. */
export async function insertSpans(
  pool: pg.Pool,
  requests: readonly SpansToAdd[],
  onLock: OnLock,
): Promise<(AddSpansResult | typeof rowIsLocked)[]> {
  if (isOneSpan(requests)) return [await insertOneSpan(pool, requests[0])];
  const bringAttributes = requests.some(hasAttributes);
  const { rows } = await pool.query<[number, boolean | null]>({
    ...(bringAttributes ? withAttributes[onLock] : plain),
    rowMode: "array",
    values: [...spanValues(requests), ...(bringAttributes ? attributeValues(requests) : [])],
  });
  return requests.map(({ spans }, index) => {
    const isLocked = rows[index]?.[1];
    if (isLocked === null) return { outcome: "stored", ids: spans.map(({ id }) => id) };
    return isLocked && bringAttributes ? rowIsLocked : { outcome: "trace_not_found" };
  });
}
