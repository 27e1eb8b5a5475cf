import type { IdempotencyKey } from "@waymark/service/http";
import { type Batching, type ClearFailure, keepTraceSql, type OnLock } from "@waymark/traces";
import { usageOfJson } from "@waymark/traces/otlp";
import type pg from "pg";
import { keyStateSql } from "../idempotency/idempotency-guard.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { grantBytesSql, lockedUsageSql, usedBytesSql } from "../usage/stored-bytes.js";
import {
  type AddSpansResult,
  bytesOfSpans,
  hasAttributes,
  insertAll,
  insertGrantedSpansSql,
  insertSpans,
  monthValues,
  type SpansToAdd,
  spanStatements,
} from "./insert-spans.query.js";
import type { TraceCapacity } from "./trace-capacity.js";

/** A statement takes as many spans as one request may bring. */
export const maxSpansPerStatement = 1_000;

export type AddSpans = (request: Omit<SpansToAdd, "bytes" | "size">) => Promise<AddSpansResult>;

interface AddSpansDeps extends Batching {
  capacity: TraceCapacity;
  reserve: ByteReserve;
  clearFailure: ClearFailure;
  priceUsage: PriceUsage;
  countAccepted(kind: "span", count: number): void;
}

/** What one statement takes, beside the month of spans that it counts. */
const usualKinds = { plain: "", withAttributes: " attributes" } as const;
const idempotentKinds = { plain: " idempotent", withAttributes: " idempotent attributes" } as const;

/** Makes the way in for spans of the JSON routes, within the capacity of their traces. */
export function createSpanAdder({
  pool,
  createGroupCommit,
  capacity,
  reserve,
  clearFailure,
  priceUsage,
  countAccepted,
}: AddSpansDeps): AddSpans {
  const insertBatched = createGroupCommit<SpansToAdd, AddSpansResult>({
    name: "add-span",
    run: (requests) => insert(pool, requests, "skip"),
    runLocked: (requests) => insert(pool, requests, "wait"),
    // A statement that waits decides about one request at least. A trace deleted meanwhile is not found by the next.
    giveUp: () => undefined,
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ size }) => size,
    kindOf: (request) => {
      const kinds = request.idempotency ? idempotentKinds : usualKinds;
      const kind = hasAttributes(request) ? kinds.withAttributes : kinds.plain;
      return request.bytes === 0 ? kind : request.month + kind;
    },
  });
  return async (asked) => {
    const { accountId, traceId, idempotency, plan, month } = asked;
    const taken = capacity.take(accountId, traceId, asked.spans.length);
    if (taken === true || (await taken)) {
      const size = bytesOfSpans(asked.spans);
      const spans = asked.spans.some(({ span }) => span.attributes)
        ? await withCalls(asked.spans, priceUsage)
        : asked.spans;
      const result = await reserve.store(asked, size, (bytes) =>
        insertBatched({ accountId, traceId, spans, idempotency, plan, month, size, bytes }),
      );
      if (result.outcome === "stored") countAccepted("span", spans.length);
      if ("ids" in result && spans.some(({ span }) => span.status === "error")) await clearFailure(asked);
      return result;
    }
    // A repeated request gets its first answer, also when the trace has become full.
    return (idempotency && (await findEarlierSpans(pool, accountId, idempotency))) ?? { outcome: "trace_full" };
  };
}

function withCalls(spans: SpansToAdd["spans"], priceUsage: PriceUsage): Promise<SpansToAdd["spans"]> {
  return Promise.all(
    spans.map(async (each) => {
      const usage = each.span.attributes ? usageOfJson(each.span.attributes.text) : null;
      return usage ? { ...each, call: await priceUsage(usage, each.span.started_at) } : each;
    }),
  );
}

function insert(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
  const insertAll = requests[0]?.idempotency ? insertIdempotentSpans : insertSpans;
  return insertAll(pool, requests, onLock);
}

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
function insertIdempotentSpans(pool: pg.Pool, requests: readonly SpansToAdd[], onLock: OnLock) {
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
async function findEarlierSpans(
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
