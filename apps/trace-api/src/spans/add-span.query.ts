import { binaryArray, type CreateGroupCommit } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/http";
import type pg from "pg";
import { type KeyRefusal, keyStateSql } from "../idempotency/key-state.js";
import type { NewSpan } from "./span.schema.js";
import type { TraceCapacity } from "./trace-capacity.js";

/** Spans of one statement at most, which is also how many a request may bring. */
export const maxSpansPerStatement = 1_000;

/** The spans of one request, which are stored all or none. */
export interface SpansToAdd {
  accountId: string;
  traceId: string;
  spans: readonly { id: string; span: NewSpan }[];
  idempotency: IdempotencyKey | undefined;
}

/** Whether they were stored; `ids` are the ids of the spans, and of a replay the ids of the first request. */
export type AddSpansResult =
  | { outcome: "stored" | "replayed"; ids: readonly string[] }
  | { outcome: "trace_not_found" }
  | { outcome: "trace_full" }
  | KeyRefusal;

/** The spans of those requests that `found` has. */
const storeSpansSql = `
    INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
    SELECT account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id
    FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::json[], $10::json[],
      $11::text[], $12::text[])
      AS s (place, id, name, status, started_at, ended_at, input, output, error, parent_span_id)
    JOIN found USING (place)`;

/**
 * Stores the spans of each request where its account has the trace, otherwise none of them, and tells the places of the
 * requests that were stored. One probe of `trace_pkey` for a request, one of `span_pkey` for a span. No foreign key: its
 * lock on the trace's row would make spans of one trace wait for each other; deleting a trace deletes the range of its spans.
 */
const insertSpansSql = `
  WITH found AS MATERIALIZED (
    SELECT r.place, r.account_id, r.trace_id FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, place)
    WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id)
  ), stored AS (${storeSpansSql}
  )
  SELECT place::int FROM found`;

/**
 * The same for requests with idempotency keys: spans are stored only where the key is new, and the key with them in the
 * same transaction, so that it is known exactly when they are. One probe of `idempotency_key_pkey` for a request beside those.
 */
const insertIdempotentSpansSql = `
  WITH asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state, t.id IS NOT NULL AS has_trace
    FROM unnest($1::uuid[], $2::uuid[], $13::text[], $14::bytea[], $15::text[]) WITH ORDINALITY
      AS r (account_id, trace_id, key, request_hash, span_ids, place)
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
    LEFT JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id
  ), found AS MATERIALIZED (
    SELECT * FROM asked WHERE state = 'new' AND has_trace
  ), stored AS (${storeSpansSql}
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, span_ids::uuid[] FROM found
  )
  SELECT CASE WHEN state = 'new' AND NOT has_trace THEN 'trace_not_found' WHEN state = 'new' THEN 'stored' ELSE state END AS outcome,
    ids
  FROM asked ORDER BY place`;

/** The ids that were stored with a key; one probe of `idempotency_key_pkey`. */
const findKeySql = "SELECT request_hash, ids FROM idempotency_key WHERE account_id = $1 AND key = $2";

/** Adds the spans of requests to traces that have room for them. */
export function createSpanStore({
  pool,
  createGroupCommit,
  capacity,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  capacity: TraceCapacity;
}) {
  const addSpans = batchSpans({ pool, createGroupCommit });
  return async function addWithinCapacity(request: SpansToAdd): Promise<AddSpansResult> {
    const taken = capacity.take(request.accountId, request.traceId, request.spans.length);
    if (taken === true || (await taken)) return addSpans(request);
    // A repeated request gets its first answer, though the trace has become full.
    return (
      (request.idempotency && (await findEarlier(pool, request, request.idempotency))) ?? { outcome: "trace_full" }
    );
  };
}

async function findEarlier(
  pool: pg.Pool,
  { accountId }: SpansToAdd,
  { key, requestHash }: IdempotencyKey,
): Promise<AddSpansResult | undefined> {
  const statement = { name: "find-key-of-spans", text: findKeySql, values: [accountId, key] };
  const { rows } = await pool.query<{ request_hash: Buffer; ids: string[] }>(statement);
  const [stored] = rows;
  if (!stored) return undefined;
  return stored.request_hash.equals(requestHash) ? { outcome: "replayed", ids: stored.ids } : { outcome: "key_reused" };
}

function batchSpans({ pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit }) {
  return createGroupCommit<SpansToAdd, AddSpansResult>({
    name: "add-span",
    run: (requests) => (requests[0]?.idempotency ? insertIdempotentSpans(pool, requests) : insertSpans(pool, requests)),
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ spans }) => spans.reduce((bytes, { span }) => bytes + bytesOf(span), 0),
    kindOf: ({ idempotency }) => (idempotency ? "idempotent" : ""),
  });
}

function bytesOf({ input, output, error }: NewSpan): number {
  return (input?.text.length ?? 0) + (output?.text.length ?? 0) + (error?.length ?? 0);
}

async function insertSpans(pool: pg.Pool, requests: readonly SpansToAdd[]): Promise<AddSpansResult[]> {
  const { rows } = await pool.query<[number]>({
    name: "insert-spans",
    text: insertSpansSql,
    rowMode: "array",
    values: valuesOf(requests),
  });
  const stored = new Set(rows.map(([place]) => place));
  return requests.map(({ spans }, index) =>
    stored.has(index + 1) ? { outcome: "stored", ids: spans.map(({ id }) => id) } : { outcome: "trace_not_found" },
  );
}

async function insertIdempotentSpans(pool: pg.Pool, requests: readonly SpansToAdd[]): Promise<AddSpansResult[]> {
  const { rows } = await pool.query<[AddSpansResult["outcome"], string[] | null]>({
    name: "insert-idempotent-spans",
    text: insertIdempotentSpansSql,
    rowMode: "array",
    values: [
      ...valuesOf(requests),
      requests.map(({ idempotency }) => idempotency?.key),
      requests.map(({ idempotency }) => idempotency?.requestHash),
      requests.map(({ spans }) => `{${spans.map(({ id }) => id).join(",")}}`),
    ],
  });
  return requests.map(({ spans }, index) => {
    const [outcome, ids] = rows[index] ?? [];
    if (outcome === "replayed") return { outcome, ids: ids ?? [] };
    if (outcome === "stored") return { outcome, ids: spans.map(({ id }) => id) };
    return { outcome: outcome ?? "trace_not_found" };
  });
}

/** The values that both statements begin with: the requests, and their spans with the requests' places. */
function valuesOf(requests: readonly SpansToAdd[]): unknown[] {
  const spans = requests.flatMap((request) => request.spans);
  return [
    requests.map(({ accountId }) => accountId),
    requests.map(({ traceId }) => traceId),
    requests.flatMap((request, index) => request.spans.map(() => index + 1)),
    spans.map(({ id }) => id),
    spans.map(({ span }) => span.name),
    spans.map(({ span }) => span.status),
    spans.map(({ span }) => span.started_at),
    spans.map(({ span }) => span.ended_at),
    binaryArray(
      "json",
      spans.map(({ span }) => span.input?.text ?? null),
    ),
    binaryArray(
      "json",
      spans.map(({ span }) => span.output?.text ?? null),
    ),
    spans.map(({ span }) => span.error),
    spans.map(({ span }) => span.parent_span_id),
  ];
}
