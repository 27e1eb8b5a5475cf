import { binaryArray } from "@waymark/database";
import { type MappedSpan, spanUuid } from "@waymark/otlp";
import type pg from "pg";
import type { Gather } from "../gather.js";
import { maxSpansPerStatement } from "../spans/add-span.query.js";

/** Spans of one request and one trace, which are stored all or none. */
export interface OtlpSpansToAdd {
  accountId: string;
  traceId: string;
  spans: readonly MappedSpan[];
}

/**
 * Stores the spans of each request where its account has the trace, otherwise none of them, and tells the places of the
 * requests whose trace was found. A span that is stored already is left as it is: its id is made of OpenTelemetry's. Spans go
 * in by rising ids, so that statements of several instances with the same spans wait for each other and do not deadlock.
 * One probe of `trace_pkey` for a request, one of `span_pkey` for a span.
 */
const insertOtlpSpansSql = `
  WITH found AS MATERIALIZED (
    SELECT r.place, r.account_id, r.trace_id FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS r (account_id, trace_id, place)
    WHERE EXISTS (SELECT FROM trace t WHERE t.account_id = r.account_id AND t.id = r.trace_id)
  ), stored AS (
    INSERT INTO span
      (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes)
    SELECT account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes
    FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::json[], $10::json[],
      $11::text[], $12::text[], $13::json[])
      AS s (place, id, name, status, started_at, ended_at, input, output, error, parent_span_id, attributes)
    JOIN found USING (place) ORDER BY account_id, trace_id, id
    ON CONFLICT (account_id, trace_id, id) DO NOTHING
  )
  SELECT place::int FROM found`;

/** Adds spans to traces; false where the account has no such trace. */
export function createOtlpSpanStore({ pool, gather }: { pool: pg.Pool; gather: Gather }) {
  return gather<OtlpSpansToAdd, boolean>({
    name: "add-otlp-spans",
    run: (requests) => insertSpans(pool, requests),
    maxRows: maxSpansPerStatement,
    countOf: ({ spans }) => spans.length,
    bytesOf: ({ spans }) => spans.reduce((bytes, span) => bytes + bytesOf(span), 0),
  });
}

function bytesOf({ input, output, error, extra }: MappedSpan): number {
  return (input?.length ?? 0) + (output?.length ?? 0) + (error?.length ?? 0) + extra.length;
}

async function insertSpans(pool: pg.Pool, requests: readonly OtlpSpansToAdd[]): Promise<boolean[]> {
  const spans = requests.flatMap((request) => request.spans);
  const { rows } = await pool.query<[number]>({
    name: "insert-otlp-spans",
    text: insertOtlpSpansSql,
    rowMode: "array",
    values: [
      requests.map(({ accountId }) => accountId),
      requests.map(({ traceId }) => traceId),
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
    ],
  });
  const found = new Set(rows.map(([place]) => place));
  return requests.map((_, index) => found.has(index + 1));
}
