import { rowIsLocked } from "@waymark/database";
import type pg from "pg";
import { keepTraceSql, type OnLock } from "../batching/on-lock.js";
import { grantBytesSql, lockedUsageSql, refusalOfBytes, usedBytesSql } from "../usage/stored-bytes.js";
import { isOneSpan, tryInsertSpan } from "./insert-one-span.query.js";
import {
  type AddSpansResult,
  hasAttributes,
  insertGrantedSpansSql,
  isPaid,
  monthValues,
  type SpansToAdd,
  spanValues,
  traceValues,
} from "./span-row.js";

/**
 * Counts and stores the spans of each request to a trace of its account. A request beyond its month's bytes is neither. Two
 * probes of `trace_usage_pkey` per account, one of `trace_pkey` per request. Spans without attributes lock no trace: deleting
 * a trace deletes the range of its spans, and the leftovers of a race go with retention. Those with model calls keep the
 * trace until their commit, so that a deletion books them.
 */
const insertSpansSql = (onLock: OnLock, withAttributes: boolean) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$1::uuid[]", month: "$3" })}, found AS MATERIALIZED (
    SELECT r.* FROM unnest($1::uuid[], $2::uuid[], $4::int[], $5::bigint[]) WITH ORDINALITY
      AS r (account_id, trace_id, bytes_to_add, max_bytes, position)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(withAttributes ? onLock : undefined)}
  ), ${grantBytesSql("found", "$3")}, stored AS (${insertGrantedSpansSql(6, withAttributes)}
  )
  SELECT CASE WHEN granted.position IS NOT NULL THEN 'stored' WHEN found.position IS NOT NULL THEN 'refused'
    WHEN EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) THEN 'locked'
    ELSE 'trace_not_found' END, CASE WHEN found.position IS NOT NULL THEN ${usedBytesSql("r.account_id", "$3")} END
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
  LEFT JOIN found USING (position) LEFT JOIN granted USING (position) ORDER BY position`;

/** Does the same for paid requests, without their months. */
const insertPaidSpansSql = (onLock: OnLock, withAttributes: boolean) => `
  WITH granted AS MATERIALIZED (
    SELECT r.* FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(withAttributes ? onLock : undefined)}
  ), stored AS (${insertGrantedSpansSql(3, withAttributes)}
  )
  SELECT CASE WHEN granted.position IS NOT NULL THEN 'stored'
    WHEN EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) THEN 'locked'
    ELSE 'trace_not_found' END, NULL
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
  LEFT JOIN granted USING (position) ORDER BY position`;

const statementsOf = (onLock: OnLock, name: string) => ({
  counted: {
    plain: { name, text: insertSpansSql(onLock, false) },
    withAttributes: { name: `${name}-with-attributes`, text: insertSpansSql(onLock, true) },
  },
  paid: {
    plain: { name: `${name}-paid`, text: insertPaidSpansSql(onLock, false) },
    withAttributes: { name: `${name}-paid-with-attributes`, text: insertPaidSpansSql(onLock, true) },
  },
});
const statements = {
  skip: statementsOf("skip", "insert-spans"),
  wait: statementsOf("wait", "insert-locked-spans"),
} as const;

/**
 * Stores the spans of requests of one month without idempotency keys in one transaction. All requests have attributes, or
 * none, and all are paid, or none.
 */
export async function insertSpans(
  pool: pg.Pool,
  requests: readonly SpansToAdd[],
  onLock: OnLock,
): Promise<(AddSpansResult | typeof rowIsLocked)[]> {
  const alone = onLock === "skip" && isOneSpan(requests) ? await tryInsertSpan(pool, requests[0]) : undefined;
  if (alone) return [alone];
  const bringAttributes = requests.some(hasAttributes);
  const paid = isPaid(requests);
  const { rows } = await pool.query<[InsertOutcome, usedBytes: number | null]>({
    ...statements[onLock][paid ? "paid" : "counted"][bringAttributes ? "withAttributes" : "plain"],
    rowMode: "array",
    values: [
      ...traceValues(requests),
      ...(paid ? [] : monthValues(requests)),
      ...spanValues(requests, bringAttributes),
    ],
  });
  return requests.map((request, index) => {
    const [outcome = "trace_not_found", usedBytes = null] = rows[index] ?? [];
    if (outcome === "refused") return refusalOfBytes(request, usedBytes);
    if (outcome === "locked") return rowIsLocked;
    if (outcome === "trace_not_found") return { outcome };
    return { outcome, ids: request.spans.map(({ id }) => id), usedBytes: usedBytes ?? 0 };
  });
}

/** `refused` by the month's bytes or its lock, `locked` by the deletion of its trace. */
type InsertOutcome = "stored" | "refused" | "locked" | "trace_not_found";
