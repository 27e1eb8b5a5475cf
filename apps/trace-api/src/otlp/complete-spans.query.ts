import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { idBounds, withTransaction } from "@waymark/database";
import { jsonMembers } from "@waymark/service/fields";
import { type Batching, type Columns, columnArrays, oneByOne, unnestSql } from "@waymark/traces";
import {
  type Completion,
  completionOf,
  type Evaluation,
  evaluationEvent,
  evaluationOfJson,
  nameRanks,
  originOf,
  type StoredLog,
  spanUuid,
  type TraceName,
  titleOf,
  usageOfLogs,
  usageOfStored,
  withLogs,
} from "@waymark/traces/otlp";
import type pg from "pg";
import { type CallOfSpan, callValues, insertCallsSql, type PriceUsage } from "../model-calls/model-call.js";
import { insertEvaluations } from "./add-spans.query.js";
import { nameOriginSql } from "./find-traces.query.js";

/** A trace that may have log records waiting for its spans. */
interface TraceToComplete {
  accountId: string;
  traceId: string;
  /** OpenTelemetry's id, in hexadecimal. */
  otelTraceId: string;
}

type WaitingSpans = TraceToComplete & { spanIds: readonly string[] };

/** Spans of one transaction: it holds their attributes, 1 MiB, and their records, 4 MiB. */
const spansPerTurn = 8;
/** Of one look-up; the next finds the others. */
const maxSpansToFind = 200;
/** Less than the day for which records stay: a repeated one of an older span would come again. */
const completionHours = 20;

const uuidOfSpan = (trace: string, hex: string) =>
  `(left(${trace}::text, 13) || '-8' || left(${hex}, 3) || '-800' || substr(${hex}, 4, 1) || '-' || substr(${hex}, 5))::uuid`;

/**
 * Finds the spans of traces that unused log records name. A range of `span_log_unused_idx` for a trace, mostly empty, and a
 * probe of `span_pkey` for each span in it.
 */
const findWaitingSql = `
  SELECT q.number::int, array_agg(encode(l.span_id, 'hex'))
  FROM unnest($1::uuid[], $2::bytea[], $3::uuid[]) WITH ORDINALITY AS q (account_id, otel_trace_id, trace_id, number)
  CROSS JOIN LATERAL (
    SELECT DISTINCT span_id FROM span_log u
    WHERE u.account_id = q.account_id AND u.otel_trace_id = q.otel_trace_id AND NOT u.is_used
  ) l
  WHERE (
    SELECT 1 FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.trace_id AND s.trace_id BETWEEN $4 AND $5
      AND s.id = ${uuidOfSpan("q.trace_id", "encode(l.span_id, 'hex')")} AND ${isRecent("s")} LIMIT 1
  ) IS NOT NULL
  GROUP BY q.number`;

function isRecent(span: string): string {
  return `${span}.written_at > now() - interval '${completionHours} hours'`;
}

/** Keeps the trace from deletion and locks its spans, in the order of their ids. Probes of `trace_pkey` and `span_pkey`. */
const lockSpansSql = `
  SELECT s.id, s.status = 'error' AS is_failed, s.kind, md5(s.input::text) AS input, md5(s.output::text) AS output, s.error,
    s.attributes::text AS attributes, to_char(s.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at
  FROM trace t CROSS JOIN span s
  WHERE t.account_id = $1 AND t.id = $2 AND s.account_id = $1 AND s.trace_id = $2 AND s.id = ANY ($3::uuid[]) AND ${isRecent("s")}
  ORDER BY s.id FOR NO KEY UPDATE OF s FOR KEY SHARE OF t`;

interface LockedSpan {
  id: string;
  is_failed: boolean;
  kind: string | null;
  input: string | null;
  output: string | null;
  error: string | null;
  attributes: string | null;
  started_at: string;
}

/** Reads all records of spans in their order, used ones too. Ranges of `span_log_pkey`. */
const readLogsSql = `
  SELECT encode(span_id, 'hex') AS "spanId", id, is_used AS "isUsed", name, event::text, input::text, output::text, error
  FROM span_log WHERE account_id = $1 AND otel_trace_id = $2 AND span_id = ANY ($3::bytea[]) ORDER BY span_id, nanos, place, id`;

type ReadLog = StoredLog & { spanId: string; id: string; isUsed: boolean };

/** Null in a column leaves the span's as it is. */
interface Change {
  id: string;
  input: string | null;
  output: string | null;
  error: string | null;
  attributes: string;
}

const changeColumns: Columns<Change> = {
  id: { type: "uuid", of: ({ id }) => id },
  input: { type: "json", of: ({ input }) => input },
  output: { type: "json", of: ({ output }) => output },
  error: { type: "text", of: ({ error }) => error },
  attributes: { type: "json", of: ({ attributes }) => attributes },
};

/** Sets what records make of locked spans, and marks the records as used: they and those used before stay another day. */
const completeSpansSql = `
  WITH used AS (
    UPDATE span_log SET is_used = true, since = now()
    WHERE account_id = $1 AND otel_trace_id = $3 AND span_id = ANY ($4::bytea[]) AND id = ANY ($5::uuid[])
  )
  UPDATE span s SET input = COALESCE(r.input, s.input), output = COALESCE(r.output, s.output),
    error = COALESCE(r.error, s.error), attributes = r.attributes, written_at = now()
  FROM ${unnestSql(6, changeColumns)} WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = r.id`;

/** A later record may bring earlier words of the same span. A probe of `trace_pkey`. */
const renameTraceSql = `
  UPDATE trace t SET name = $3, name_origin = $4, written_at = now()
  WHERE t.account_id = $1 AND t.id = $2 AND $4::bytea <= ${nameOriginSql} AND (t.name, t.name_origin) IS DISTINCT FROM ($3, $4)`;

const insertCallsOfLogsSql = `
  WITH completed AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id, 1 AS position)${insertCallsSql(3, "completed")}`;

export type CompleteSpans = (trace: TraceToComplete) => Promise<boolean>;

/**
 * Completes the spans of traces from their log records. Whoever stores spans or records does so after the commit, so the later
 * one of the two sees both.
 * @returns a function that tells whether the error of a failed span changed
 */
export function createSpanCompleter(deps: Batching & { priceUsage: PriceUsage }): CompleteSpans {
  const { pool, createGroupCommit, priceUsage } = deps;
  const findWaiting = createGroupCommit<TraceToComplete, readonly string[]>({
    name: "find-waiting-logs",
    run: (traces) => findWaitingSpans(pool, traces),
    maxInFlight: 2,
  });
  const complete = oneByOne<WaitingSpans, boolean>(deps, "complete-spans", (_pool, trace) =>
    completeSpans(pool, priceUsage, trace),
  );
  return async (trace) => {
    let isErrorNew = false;
    for (let found = maxSpansToFind; found === maxSpansToFind; ) {
      const spanIds = (await findWaiting(trace)).slice(0, maxSpansToFind);
      found = spanIds.length;
      for (let i = 0; i < found; i += spansPerTurn)
        if (await complete({ ...trace, spanIds: spanIds.slice(i, i + spansPerTurn) })) isErrorNew = true;
    }
    return isErrorNew;
  };
}

async function findWaitingSpans(pool: pg.Pool, traces: readonly TraceToComplete[]): Promise<(readonly string[])[]> {
  const traceIds = traces.map(({ traceId }) => traceId);
  const values = [
    traces.map(({ accountId }) => accountId),
    traces.map(({ otelTraceId }) => `\\x${otelTraceId}`),
    traceIds,
    ...idBounds(traceIds),
  ];
  const { rows } = await pool.query<[number: number, spanIds: string[]]>({
    name: "find-waiting-logs",
    text: findWaitingSql,
    rowMode: "array",
    values,
  });
  const found = new Map(rows);
  return traces.map((_, n) => found.get(n + 1) ?? []);
}

function completeSpans(
  pool: pg.Pool,
  priceUsage: PriceUsage,
  { accountId, traceId, otelTraceId, spanIds }: WaitingSpans,
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const uuids = spanIds.map((id) => spanUuid(traceId, id));
    const locked = { name: "lock-spans-to-complete", text: lockSpansSql, values: [accountId, traceId, uuids] };
    const { rows: spans } = await client.query<LockedSpan>(locked);
    if (spans.length === 0) return false;
    const spanBytes = spanIds.map((id) => `\\x${id}`);
    const otelTrace = `\\x${otelTraceId}`;
    const read = { name: "read-logs-of-spans", text: readLogsSql, values: [accountId, otelTrace, spanBytes] };
    const { rows: logs } = await client.query<ReadLog>(read);
    const completed = spans.map((span) => ({
      span,
      records: logs.filter(({ spanId }) => spanUuid(traceId, spanId) === span.id),
    }));
    const changes: Change[] = [];
    const calls: CallOfSpan[] = [];
    for (const { span, records } of completed) {
      changes.push(changeOf(span, records));
      const call = await callOf(span, records, priceUsage);
      if (call) calls.push(call);
      await setImmediate();
    }
    const ids = completed.flatMap(({ records }) => records.map(({ id }) => id));
    const values = [accountId, traceId, otelTrace, spanBytes, ids, ...columnArrays(changes, changeColumns)];
    await client.query({ name: "complete-spans", text: completeSpansSql, values });
    await insertEvaluations(client, { accountId, traceId, evaluations: logs.flatMap(judged) });
    const names = completed.flatMap(({ span, records }, n) => askedName(span, records, changes[n]) ?? []);
    const [name] = names.sort(byOrigin);
    if (name) {
      const renamed = [accountId, traceId, name.text, `\\x${name.origin}`];
      await client.query({ name: "rename-asked-trace", text: renameTraceSql, values: renamed });
    }
    if (calls.length > 0) {
      const own = [accountId, traceId, ...callValues(calls)];
      await client.query({ name: "insert-calls-of-logs", text: insertCallsOfLogsSql, values: own });
    }
    return changes.some(({ error }, n) => error !== null && error !== spans[n]?.error);
  });
}

function judged({ name, spanId, event }: ReadLog): readonly Evaluation[] | Evaluation {
  if (name !== evaluationEvent) return [];
  const { time = "", attributes = "{}" } = Object.fromEntries(jsonMembers(event, ["time", "attributes"]));
  return evaluationOfJson(spanId, time, attributes) ?? [];
}

/** A content that equals what the used records made comes from these; any other is the span's own, and stays. */
function changeOf(span: LockedSpan, records: readonly ReadLog[]): Change {
  const used = records.filter(({ isUsed }) => isUsed);
  const made = completionOf(used, { input: false, output: false, error: false });
  const isOwn = (name: "input" | "output") => span[name] !== null && span[name] !== hashOf(made[name]);
  const own = {
    input: isOwn("input"),
    output: isOwn("output"),
    error: !span.is_failed || (span.error !== null && span.error !== made.error),
  };
  const { input, output, error, logs }: Completion = completionOf(records, own);
  return { id: span.id, input, output, error, attributes: withLogs(span.attributes ?? "{}", logs) };
}

/** The name that the completed input of an agent or a model gives its trace. */
function askedName(span: LockedSpan, [record]: readonly ReadLog[], change: Change | undefined): TraceName | undefined {
  const isAsked = span.kind === "agent" || span.kind === "model";
  const text = isAsked ? titleOf(change?.input ?? null) : undefined;
  if (text === undefined || !record) return undefined;
  return { text, origin: originOf(nameRanks.asked, { startedAt: span.started_at, spanId: record.spanId }) };
}

const byOrigin = (a: TraceName, b: TraceName) => (a.origin < b.origin ? -1 : 1);

function hashOf(text: string | null): string | null {
  return text === null ? null : createHash("md5").update(text).digest("hex");
}

/** What the records report now, if the span reports no model call itself and they reported another before. */
async function callOf(
  { id, attributes, started_at: startedAt }: LockedSpan,
  records: readonly ReadLog[],
  priceUsage: PriceUsage,
): Promise<CallOfSpan | undefined> {
  const usage = usageOfLogs(records);
  if (!usage || usageOfStored(attributes ?? "{}")) return undefined;
  const before = usageOfLogs(records.filter(({ isUsed }) => isUsed));
  if (JSON.stringify(before) === JSON.stringify(usage)) return undefined;
  return { request: 1, spanId: id, startedAt, call: await priceUsage(usage, startedAt) };
}
