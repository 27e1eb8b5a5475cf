import { rowIsLocked } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/http";
import type pg from "pg";
import { keepTraceSql, type OnLock } from "../batching/on-lock.js";
import { keyStateSql } from "../idempotency/key-state.js";
import {
  type AddSpansResult,
  attributeValues,
  hasAttributes,
  insertFoundSpansSql,
  type SpansToAdd,
  spanValues,
} from "./span-row.js";

/**
 * Does the same as `insertSpansSql` for requests with idempotency keys. Only requests with a new key are stored, each with
 * its key in one transaction: the key is stored exactly when its spans are. One further probe of
 * `idempotency_key_pkey` per request.
 */
const insertIdempotentSpansSql = (attributes?: number, onLock?: OnLock) => `
  WITH kept AS MATERIALIZED (
    SELECT r.position FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(onLock)}
  ), asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state, kept.position IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $13::text[], $14::bytea[], $15::text[]) WITH ORDINALITY
      AS r (account_id, trace_id, key, request_hash, span_ids, position)
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
    LEFT JOIN kept USING (position)
  ), found AS MATERIALIZED (
    SELECT * FROM asked WHERE state = 'new' AND has_trace
  ), stored AS (${insertFoundSpansSql(attributes)}
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, span_ids::uuid[] FROM found
  )
  SELECT CASE WHEN state = 'new' AND NOT has_trace THEN CASE WHEN EXISTS (
      SELECT FROM trace t WHERE t.account_id = asked.account_id AND t.id = asked.trace_id
    ) THEN 'locked' ELSE 'trace_not_found' END WHEN state = 'new' THEN 'stored' ELSE state END AS outcome,
    ids
  FROM asked ORDER BY position`;

/** Reads the ids stored with a key. One probe of `idempotency_key_pkey`. */
const findKeySql = "SELECT request_hash, ids FROM idempotency_key WHERE account_id = $1 AND key = $2";

const plain = { name: "insert-idempotent-spans", text: insertIdempotentSpansSql() };
const withAttributes = {
  skip: { name: "insert-idempotent-spans-with-attributes", text: insertIdempotentSpansSql(16, "skip") },
  wait: { name: "insert-locked-idempotent-spans", text: insertIdempotentSpansSql(16, "wait") },
} as const;

/** Stores the spans of requests in one transaction. All have idempotency keys, and no key comes twice. */
export async function insertIdempotentSpans(
  pool: pg.Pool,
  requests: readonly SpansToAdd[],
  onLock: OnLock,
): Promise<(AddSpansResult | typeof rowIsLocked)[]> {
  const bringAttributes = requests.some(hasAttributes);
  const { rows } = await pool.query<[AddSpansResult["outcome"] | "locked", string[] | null]>({
    ...(bringAttributes ? withAttributes[onLock] : plain),
    rowMode: "array",
    values: [
      ...spanValues(requests),
      requests.map(({ idempotency }) => idempotency?.key),
      requests.map(({ idempotency }) => idempotency?.requestHash),
      requests.map(({ spans }) => `{${spans.map(({ id }) => id).join(",")}}`),
      ...(bringAttributes ? attributeValues(requests) : []),
    ],
  });
  return requests.map(({ spans }, index) => {
    const [outcome, ids] = rows[index] ?? [];
    if (outcome === "replayed") return { outcome, ids: ids ?? [] };
    if (outcome === "stored") return { outcome, ids: spans.map(({ id }) => id) };
    return outcome === "locked" ? rowIsLocked : { outcome: outcome ?? "trace_not_found" };
  });
}

/** Finds the result of an earlier request with the key, or undefined. */
export async function findEarlierSpans(
  pool: pg.Pool,
  accountId: string,
  { key, requestHash }: IdempotencyKey,
): Promise<AddSpansResult | undefined> {
  const statement = { name: "find-key-of-spans", text: findKeySql, values: [accountId, key] };
  const { rows } = await pool.query<{ request_hash: Buffer; ids: string[] }>(statement);
  const [stored] = rows;
  if (!stored) return undefined;
  return stored.request_hash.equals(requestHash) ? { outcome: "replayed", ids: stored.ids } : { outcome: "key_reused" };
}
