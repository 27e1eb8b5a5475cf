import { binaryArray, type CreateGroupCommit, idBounds, rowIsLocked } from "@waymark/database";
import { type Context, type MappedSpan, spanUuid } from "@waymark/otlp";
import type pg from "pg";
import { keepTraceSql, type OnLock } from "../batching/on-lock.js";
import {
  type CallOfSpan,
  callValues,
  insertCallsSql,
  noteChangeSql,
  type PriceUsage,
} from "../model-calls/model-call.js";
import { maxSpansPerStatement } from "../spans/add-spans.js";
import { ownBytes } from "./trace-group.js";

/** Spans of one request and one trace, stored all or none. */
export interface OtlpSpansToAdd {
  accountId: string;
  traceId: string;
  spans: readonly MappedSpan[];
}

export type OtlpSpansResult = "stored" | "trace_not_found" | "context_limit";

/** Resources and scopes of a trace. Concurrent requests may each add theirs. */
export const maxContextsPerTrace = 1_000;

/** Stored contexts in memory. A stale entry does no harm: contexts go with their trace, and then its spans are not stored. */
const maxKnownContexts = 20_000;

/**
 * Stores the spans of each request with their new resources and scopes, if the account has the trace and the trace would
 * have at most $20 of these, and keeps the trace from deletion until the commit. A span that exists stays unchanged. Returns
 * for each request whether it exceeds these, and without its trace whether that is locked. Contexts and spans go in by rising ids, so statements of several instances wait for each other and do not deadlock. A probe
 * of `trace_pkey` and `model_call_pkey` for a request, of `span_pkey` for a span, of `trace_context_pkey` and the trace's range of it for a context.
 */
const insertOtlpSpansSql = (onLock: OnLock) => `
  WITH found AS MATERIALIZED (
    SELECT r.number, r.account_id, r.trace_id FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, number)
    JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(onLock)}
  ), brought AS MATERIALIZED (
    SELECT number, account_id, trace_id, b.id, b.value, b.bytes
    FROM unnest($14::int[], $15::bigint[], $16::json[], $17::int[]) AS b (number, id, value, bytes) JOIN found USING (number)
    WHERE NOT EXISTS (
      SELECT FROM trace_context c WHERE c.account_id = found.account_id AND c.trace_id = found.trace_id AND c.id = b.id
    )
  ), full_traces AS MATERIALIZED (
    SELECT number FROM brought b GROUP BY number, account_id, trace_id
    HAVING count(*) + (
      SELECT count(*) FROM trace_context c WHERE c.account_id = b.account_id AND c.trace_id = b.trace_id
    ) > $20
  ), contexts AS (
    INSERT INTO trace_context (account_id, trace_id, id, value, bytes)
    SELECT account_id, trace_id, id, value, bytes FROM brought
    WHERE number NOT IN (SELECT number FROM full_traces) ORDER BY account_id, trace_id, id
    ON CONFLICT (account_id, trace_id, id) DO NOTHING
  ), stored AS (
    INSERT INTO span
      (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes,
      resource_id, scope_id)
    SELECT account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes,
      resource_id, scope_id
    FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::json[], $10::json[],
      $11::text[], $12::text[], $13::json[], $18::bigint[], $19::bigint[])
      AS s (number, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes, resource_id, scope_id)
    JOIN found USING (number) WHERE number NOT IN (SELECT number FROM full_traces) ORDER BY account_id, trace_id, id
    ON CONFLICT (account_id, trace_id, id) DO NOTHING
  ), calls AS (${insertCallsSql(
    21,
    "found",
    "number",
    `number NOT IN (SELECT number FROM full_traces) AND NOT EXISTS (
      SELECT FROM span s WHERE s.account_id = found.account_id AND s.trace_id = found.trace_id AND s.id = c.span_id
        AND s.trace_id BETWEEN $33 AND $34
    )`,
  )}
    RETURNING account_id, trace_id
  ), noted AS (${noteChangeSql("found", "trace_id", "(account_id, trace_id) NOT IN (SELECT account_id, trace_id FROM calls)")}
  )
  SELECT found.number IS NOT NULL, r.number IN (SELECT number FROM full_traces), CASE WHEN found.number IS NULL THEN
    EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) END
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, number) LEFT JOIN found USING (number)
  ORDER BY r.number`;

const statements = {
  skip: { name: "insert-otlp-spans", text: insertOtlpSpansSql("skip") },
  wait: { name: "insert-locked-otlp-spans", text: insertOtlpSpansSql("wait") },
} as const;

/** Adds spans to traces, with their resources and scopes. */
export function createOtlpSpanStore({
  pool,
  createGroupCommit,
  priceUsage,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  priceUsage: PriceUsage;
}) {
  const known = new Set<string>();
  const add = createGroupCommit<RowToAdd, OtlpSpansResult>({
    name: "add-otlp-spans",
    run: (requests) => insertSpans(pool, requests, "skip"),
    // The trace was deleted while the statement waited for its lock.
    runLocked: async (requests) =>
      (await insertSpans(pool, requests, "wait")).map((result) =>
        result === rowIsLocked ? "trace_not_found" : result,
      ),
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ spans, contexts }) =>
      contexts.reduce(
        (sum, { bytes }) => sum + bytes,
        spans.reduce((sum, span) => sum + ownBytes(span), 0),
      ),
  });
  return async (request: OtlpSpansToAdd): Promise<OtlpSpansResult> => {
    const nameOf = ({ id }: Context) => `${request.accountId} ${request.traceId} ${id}`;
    const contexts = contextsOf(request.spans).filter((context) => !known.has(nameOf(context)));
    const result = await add({ ...request, contexts, calls: await callsOf(request, priceUsage) });
    if (result !== "stored") return result;
    if (known.size >= maxKnownContexts) known.clear();
    for (const context of contexts) known.add(nameOf(context));
    return result;
  };
}

/** With the contexts that may be new to the trace. */
interface RowToAdd extends OtlpSpansToAdd {
  contexts: readonly Context[];
  calls: readonly Omit<CallOfSpan, "request">[];
}

/** The model calls of a request; of a span that comes twice, the first one. */
async function callsOf({ traceId, spans }: OtlpSpansToAdd, priceUsage: PriceUsage) {
  const calls = new Map<string, Promise<Omit<CallOfSpan, "request">>>();
  for (const { spanId, startedAt, usage } of spans) {
    if (!usage || calls.has(spanId)) continue;
    const priced = priceUsage(usage, startedAt);
    calls.set(
      spanId,
      priced.then((call) => ({ spanId: spanUuid(traceId, spanId), startedAt, call })),
    );
  }
  return Promise.all(calls.values());
}

function contextsOf(spans: readonly MappedSpan[]): readonly Context[] {
  const contexts = new Map<string, Context>();
  for (const { resource, scope } of spans) {
    contexts.set(resource.id, resource);
    if (scope) contexts.set(scope.id, scope);
  }
  return [...contexts.values()];
}

async function insertSpans(
  pool: pg.Pool,
  requests: readonly RowToAdd[],
  onLock: OnLock,
): Promise<(OtlpSpansResult | typeof rowIsLocked)[]> {
  const { rows } = await pool.query<[found: boolean, isFull: boolean, isLocked: boolean | null]>({
    ...statements[onLock],
    rowMode: "array",
    values: valuesOf(requests),
  });
  return rows.map(([isFound, isFull, isLocked]) => {
    if (isFound) return isFull ? "context_limit" : "stored";
    return isLocked ? rowIsLocked : "trace_not_found";
  });
}

function valuesOf(requests: readonly RowToAdd[]): unknown[] {
  const spans = requests.flatMap((request) => request.spans);
  const contexts = requests.flatMap((request) => request.contexts);
  const traceIds = requests.map(({ traceId }) => traceId);
  return [
    requests.map(({ accountId }) => accountId),
    traceIds,
    requests.flatMap((request, index) => request.spans.map(() => index + 1)),
    requests.flatMap(({ traceId, spans: own }) => own.map(({ spanId }) => spanUuid(traceId, spanId))),
    spans.map(({ name }) => name),
    spans.map(({ status }) => status),
    spans.map(({ startedAt }) => startedAt),
    spans.map(({ endedAt }) => endedAt),
    binaryArray(
      "json",
      spans.map(({ input }) => input),
    ),
    binaryArray(
      "json",
      spans.map(({ output }) => output),
    ),
    spans.map(({ error }) => error),
    requests.flatMap(({ traceId, spans: own }) =>
      own.map(({ parentSpanId }) => parentSpanId && spanUuid(traceId, parentSpanId)),
    ),
    binaryArray(
      "json",
      spans.map(({ extra }) => extra),
    ),
    requests.flatMap((request, index) => request.contexts.map(() => index + 1)),
    contexts.map(({ id }) => id),
    binaryArray(
      "json",
      contexts.map(({ json }) => json),
    ),
    contexts.map(({ bytes }) => bytes),
    spans.map(({ resource }) => resource.id),
    spans.map(({ scope }) => scope?.id),
    maxContextsPerTrace,
    ...callValues(requests.flatMap(({ calls }, index) => calls.map((call) => ({ ...call, request: index + 1 })))),
    ...idBounds(traceIds),
  ];
}
