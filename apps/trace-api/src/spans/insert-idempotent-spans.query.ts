import type { IdempotencyKey } from "@waymark/service/http";
import { grantBytesSql, keepTraceSql, keyStateSql, lockedUsageSql, type OnLock, usedBytesSql } from "@waymark/traces";
import type pg from "pg";
import {
  type AddSpansResult,
  insertAll,
  insertGrantedSpansSql,
  monthValues,
  type SpansToAdd,
  spanStatements,
} from "./insert-spans.query.js";

/**
 * Does the same as `insertSpansSql` for requests with idempotency keys. Only requests with a new key are stored, each with
 * its key in one transaction: the key is stored exactly when its spans are. One further probe of
 * `idempotency_key_pkey` per request.
 */
const insertIdempotentSpansSql = (onLock: OnLock, withAttributes: boolean) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$1::uuid[]", month: "$3" })}, kept AS MATERIALIZED (
    SELECT r.position FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, position)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(withAttributes ? onLock : undefined)}
  ), asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state, kept.position IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $4::int[], $5::bigint[], $6::text[], $7::bytea[], $8::text[]) WITH ORDINALITY
      AS r (account_id, trace_id, bytes_to_add, max_bytes, key, request_hash, span_ids, position)
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
    LEFT JOIN kept USING (position)
  ), found AS MATERIALIZED (
    SELECT * FROM asked WHERE state = 'new' AND has_trace
  ), ${grantBytesSql("found", "$3")}, stored AS (${insertGrantedSpansSql(9, withAttributes)}
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, span_ids::uuid[] FROM granted
  )
  SELECT CASE WHEN state <> 'new' THEN state WHEN has_trace AND position IN (SELECT position FROM granted) THEN 'stored'
    WHEN has_trace THEN 'refused'
    WHEN EXISTS (SELECT FROM trace t WHERE t.account_id = asked.account_id AND t.id = asked.trace_id) THEN 'locked'
    ELSE 'trace_not_found' END,
    ids, CASE WHEN state = 'new' THEN ${usedBytesSql("asked.account_id", "$3")} END
  FROM asked ORDER BY position`;

const statements = spanStatements("insert-idempotent-spans", insertIdempotentSpansSql);

/** Stores the spans of requests of one month in one transaction. All have idempotency keys, and no key comes twice. */
export function insertIdempotentSpans(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
  return insertAll(pool, requests, onLock, statements, [
    ...monthValues(requests),
    requests.map(({ idempotency }) => idempotency?.key),
    requests.map(({ idempotency }) => idempotency?.requestHash),
    requests.map(({ spans }) => `{${spans.map(({ id }) => id).join(",")}}`),
  ]);
}

/** Reads the ids stored with a key. One probe of `idempotency_key_pkey`. */
const findKeySql = "SELECT request_hash, ids FROM idempotency_key WHERE account_id = $1 AND key = $2";

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
