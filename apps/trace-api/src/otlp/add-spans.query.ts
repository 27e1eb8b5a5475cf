import { idBounds, rowIsLocked, withTransaction } from "@waymark/database";
import {
  type Batching,
  type BytesUsed,
  type Columns,
  type CountedRequest,
  columnArrays,
  fieldOf,
  grantBytesSql,
  isSpanSql,
  keepTraceSql,
  lockedUsageSql,
  maxScoresPerTrace,
  type OnLock,
  oneByOne,
  onLockStatements,
  refusalOfBytes,
  sizedNames,
  spanColumns,
  storedBytes,
  unnestSql,
  usedBytesSql,
} from "@waymark/traces";
import { type Context, type Evaluation, type MappedSpan, spanUuid } from "@waymark/traces/otlp";
import type pg from "pg";
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
export interface OtlpSpansToAdd extends Omit<CountedRequest, "bytes"> {
  accountId: string;
  traceId: string;
  spans: readonly MappedSpan[];
}

export type OtlpSpansResult =
  | ({ outcome: "stored" | "byte_limit" } & BytesUsed)
  | { outcome: "trace_not_found" | "context_limit" };

/** Resources and scopes of a trace. Concurrent requests may each add theirs. */
export const maxContextsPerTrace = 1_000;

/** Stored contexts in memory. A stale entry does no harm: contexts go with their trace, and then its spans are not stored. */
const maxKnownContexts = 20_000;

/** A part of a request; positions from 1. */
interface Positioned {
  position: number;
}
type SpanRow = Positioned & { traceId: string; span: MappedSpan };
type ContextRow = Positioned & { context: Context };

const requestColumns: Columns<RowToAdd> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  trace_id: { type: "uuid", of: ({ traceId }) => traceId },
  max_bytes: { type: "bigint", of: ({ plan }) => plan.bytesPerMonth },
};
const contextColumns: Columns<ContextRow> = {
  position: { type: "int", of: ({ position }) => position },
  id: { type: "bigint", of: ({ context }) => context.id },
  value: { type: "json", of: ({ context }) => context.json },
  bytes: { type: "int", of: ({ context }) => context.bytes },
  bytes_to_add: { type: "int", of: ({ context }) => storedBytes([context.json]) },
};
const countedColumns: Columns<SpanRow> = {
  position: { type: "int", of: ({ position }) => position },
  id: { type: "uuid", of: ({ traceId, span }) => spanUuid(traceId, span.spanId) },
  bytes_to_add: { type: "int", of: ({ span }) => bytesOfSpan(span) },
};
const spanRowColumns: Columns<SpanRow> = {
  ...countedColumns,
  ...spanColumns<SpanRow>(true, (name) => {
    const { otlp } = fieldOf(name);
    return ({ span, traceId }) => otlp(span, traceId);
  }),
  resource_id: { type: "bigint", of: ({ span }) => span.resource.id },
  scope_id: { type: "bigint", of: ({ span }) => span.scope?.id },
};
/** The parameters before these: the month, the bounds of ids, and the most contexts of a trace. */
const requestsFrom = 5;
const contextsFrom = requestsFrom + Object.keys(requestColumns).length;
const spansFrom = contextsFrom + Object.keys(contextColumns).length;
const callsFrom = spansFrom + Object.keys(spanRowColumns).length;
const requests = unnestSql(requestsFrom, requestColumns, { hasPosition: true });
const storedNames = Object.keys(spanRowColumns)
  .filter((name) => name !== "position" && name !== "bytes_to_add")
  .join(", ");

/**
 * Stores the spans of each request with their new resources and scopes, if the account has the trace, the trace would have at
 * most $4 of these, and the month takes the bytes of the new ones. It keeps the trace from deletion until the commit. A span
 * that exists stays unchanged. Contexts and spans go in by rising ids, so statements of several instances wait for each other
 * and do not deadlock. A probe of `trace_pkey` and `model_call_pkey` for a request, one of `span_pkey` for a span, of
 * `trace_usage_pkey` for an account, of `trace_context_pkey` and the trace's range of it for a context.
 */
const insertOtlpSpansSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: `$${requestsFrom}::uuid[]`, month: "$1" })}, found AS MATERIALIZED (
    SELECT r.* FROM ${requests} JOIN trace t ON t.account_id = r.account_id AND t.id = r.trace_id ${keepTraceSql(onLock)}
  ), brought AS MATERIALIZED (
    SELECT position, account_id, trace_id, r.id, r.value, r.bytes, r.bytes_to_add
    FROM ${unnestSql(contextsFrom, contextColumns)} JOIN found USING (position)
    WHERE (
      SELECT 1 FROM trace_context o
      WHERE o.account_id = found.account_id AND o.trace_id = found.trace_id AND o.id = r.id LIMIT 1
    ) IS NULL
  ), full_traces AS MATERIALIZED (
    SELECT position FROM brought b GROUP BY position, account_id, trace_id
    HAVING count(*) + (
      SELECT count(*) FROM trace_context c WHERE c.account_id = b.account_id AND c.trace_id = b.trace_id
    ) > $4
  ), probed AS MATERIALIZED (
    SELECT position, r.id, bytes_to_add, (
      SELECT 1 FROM span s WHERE ${isSpanSql(["found.account_id", "found.trace_id", "r.id"])}
        AND s.trace_id BETWEEN $2 AND $3 LIMIT 1
    ) IS NULL AS is_new FROM ${unnestSql(spansFrom, countedColumns)} JOIN found USING (position)
  ), new_bytes AS MATERIALIZED (
    SELECT position, sum(bytes_to_add)::int AS bytes_to_add FROM (
      SELECT position, bytes_to_add FROM brought UNION ALL SELECT position, bytes_to_add FROM probed WHERE is_new
    ) AS b GROUP BY position
  ), wanted AS MATERIALIZED (
    SELECT found.*, COALESCE(bytes_to_add, 0) AS bytes_to_add FROM found LEFT JOIN new_bytes USING (position)
    WHERE position NOT IN (SELECT position FROM full_traces)
  ), ${grantBytesSql("wanted", "$1")}, contexts AS (
    INSERT INTO trace_context (account_id, trace_id, id, value, bytes)
    SELECT account_id, trace_id, id, value, bytes FROM brought
    WHERE position IN (SELECT position FROM granted) ORDER BY account_id, trace_id, id
    ON CONFLICT (account_id, trace_id, id) DO NOTHING
  ), stored AS (
    INSERT INTO span (account_id, trace_id, ${storedNames})
    SELECT account_id, trace_id, ${storedNames} FROM ${unnestSql(spansFrom, spanRowColumns)}
    JOIN granted USING (position) ORDER BY account_id, trace_id, id
    ON CONFLICT (account_id, trace_id, id) DO NOTHING
  ), calls AS (${insertCallsSql(
    callsFrom,
    "granted",
    "(position, r.span_id) NOT IN (SELECT position, id FROM probed WHERE NOT is_new)",
  )}
    RETURNING account_id, trace_id
  ), noted AS (${noteChangeSql("granted", "trace_id", "(account_id, trace_id) NOT IN (SELECT account_id, trace_id FROM calls)")}
  )
  SELECT found.position IS NOT NULL, wanted.position IS NULL, granted.position IS NOT NULL, wanted.bytes_to_add,
    CASE WHEN wanted.position IS NOT NULL THEN ${usedBytesSql("r.account_id", "$1")} END, CASE WHEN found.position IS NULL THEN
    EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id) END
  FROM ${requests}
  LEFT JOIN found USING (position) LEFT JOIN wanted USING (position) LEFT JOIN granted USING (position) ORDER BY r.position`;

const statements = onLockStatements("insert-otlp-spans", insertOtlpSpansSql);

type Answer = [
  isFound: boolean,
  isFull: boolean,
  isStored: boolean,
  bytesToAdd: number | null,
  usedBytes: number | null,
  isLocked: boolean | null,
];

export function createOtlpSpanStore({ pool, createGroupCommit, priceUsage }: Batching & { priceUsage: PriceUsage }) {
  const known = new Set<string>();
  const add = createGroupCommit<RowToAdd, OtlpSpansResult>({
    name: "add-otlp-spans",
    run: (requests) => insertSpans(pool, requests, "skip"),
    runLocked: (requests) => insertSpans(pool, requests, "wait"),
    // A statement that waits decides about one request at least. A trace deleted meanwhile is not found by the next.
    giveUp: () => undefined,
    kindOf: ({ month }) => month,
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
    if (result.outcome !== "stored") return result;
    if (known.size >= maxKnownContexts) known.clear();
    for (const context of contexts) known.add(nameOf(context));
    return result;
  };
}

interface RowToAdd extends OtlpSpansToAdd {
  contexts: readonly Context[];
  calls: readonly Omit<CallOfSpan, "request">[];
}

/** The model calls of a request; of a span that comes twice, the first one. */
async function callsOf({ traceId, spans }: OtlpSpansToAdd, priceUsage: PriceUsage) {
  const calls = new Map<string, Omit<CallOfSpan, "request">>();
  for (const { spanId, startedAt, usage } of spans) {
    if (!usage || calls.has(spanId)) continue;
    const priced = priceUsage(usage, startedAt);
    const call = priced instanceof Promise ? await priced : priced;
    calls.set(spanId, { spanId: spanUuid(traceId, spanId), startedAt, call });
  }
  return [...calls.values()];
}

function contextsOf(spans: readonly MappedSpan[]): readonly Context[] {
  const contexts = new Map<string, Context>();
  for (const { resource, scope } of spans) {
    contexts.set(resource.id, resource);
    if (scope) contexts.set(scope.id, scope);
  }
  return [...contexts.values()];
}

const counted = sizedNames().filter((name) => name !== "parent_span_id");

/** What a span counts in its account's month: no ids. Its trace's row holds the resource of a root span once more. */
function bytesOfSpan(span: MappedSpan): number {
  if (span.isCounted) return 0;
  const texts = counted.map((name) => fieldOf(name).otlp(span, ""));
  const isAnyRoot = span.parentSpanId === null || span.isLocalRoot;
  return storedBytes(texts) + (isAnyRoot ? span.resource.bytes : 0);
}

async function insertSpans(
  pool: pg.Pool,
  requests: readonly RowToAdd[],
  onLock: OnLock,
): Promise<(OtlpSpansResult | typeof rowIsLocked)[]> {
  const { rows } = await pool.query<Answer>({ ...statements[onLock], rowMode: "array", values: valuesOf(requests) });
  return rows.map(([isFound, isFull, isStored, bytesToAdd, usedBytes, isLocked], index) => {
    if (!isFound) return isLocked ? rowIsLocked : { outcome: "trace_not_found" };
    if (isFull) return { outcome: "context_limit" };
    if (isStored) return { outcome: "stored", usedBytes: usedBytes ?? 0 };
    const { plan } = requests[index] as RowToAdd;
    return refusalOfBytes({ bytes: bytesToAdd ?? 0, plan }, usedBytes);
  });
}

function valuesOf(rows: readonly RowToAdd[]): unknown[] {
  const traceIds = rows.map(({ traceId }) => traceId);
  const contextRows = rows.flatMap(({ contexts }, n) => contexts.map((context) => ({ position: n + 1, context })));
  const spanRows = rows.flatMap(({ traceId, spans: own }, n) =>
    own.map((span) => ({ position: n + 1, traceId, span })),
  );
  return [
    rows[0]?.month,
    ...idBounds(traceIds),
    maxContextsPerTrace,
    ...columnArrays(rows, requestColumns),
    ...columnArrays(contextRows, contextColumns),
    ...columnArrays(spanRows, spanRowColumns),
    ...callValues(rows.flatMap(({ calls }, n) => calls.map((call) => ({ ...call, request: n + 1 })))),
  ];
}

interface EvaluationsToAdd {
  accountId: string;
  traceId: string;
  evaluations: readonly Evaluation[];
}

const scoreColumns: Columns<Evaluation & { traceId: string }> = {
  id: { type: "uuid", of: ({ id }) => id },
  span_id: { type: "uuid", of: ({ traceId, spanId }) => spanUuid(traceId, spanId) },
  name: { type: "text", of: ({ name }) => name },
  kind: { type: "text", of: ({ text }) => (text === null ? "number" : "text") },
  number: { type: "double precision", of: ({ number }) => number },
  text: { type: "text", of: ({ text }) => text },
  comment: { type: "text", of: ({ comment }) => comment },
};
const scoreNames = Object.keys(scoreColumns).join(", ");

/** As in `add-score.query.ts`: one at a time adds scores to a trace. A probe of `trace_pkey`. */
const lockTraceSql = "SELECT FROM trace WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE";

/** Stores the scores that are new, as many as the trace has room for. Its range of `score_pkey`, and probes of `span_pkey`. */
const insertScoresSql = `
  INSERT INTO score (account_id, trace_id, ${scoreNames})
  SELECT $1, $2, ${scoreNames} FROM ${unnestSql(3, scoreColumns)}
  WHERE NOT EXISTS (SELECT FROM score o WHERE o.account_id = $1 AND o.trace_id = $2 AND o.id = r.id)
    AND EXISTS (SELECT FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = r.span_id)
  LIMIT GREATEST(0, ${maxScoresPerTrace} - (SELECT count(*) FROM score WHERE account_id = $1 AND trace_id = $2))
  ON CONFLICT DO NOTHING`;

/** Makes scores of judgements, in a transaction. Spans keep these too, and their bytes count there. */
export async function insertEvaluations(
  client: pg.ClientBase,
  { accountId, traceId, evaluations }: EvaluationsToAdd,
): Promise<void> {
  if (evaluations.length === 0) return;
  await client.query({ name: "lock-judged-trace", text: lockTraceSql, values: [accountId, traceId] });
  const rows = evaluations.slice(0, maxScoresPerTrace).map((evaluation) => ({ ...evaluation, traceId }));
  const values = [accountId, traceId, ...columnArrays(rows, scoreColumns)];
  await client.query({ name: "insert-evaluations", text: insertScoresSql, values });
}

export function createEvaluationStore(deps: Batching) {
  return oneByOne<EvaluationsToAdd, void>(deps, "add-evaluations", (pool, row) =>
    withTransaction(pool, (client) => insertEvaluations(client, row)),
  );
}
