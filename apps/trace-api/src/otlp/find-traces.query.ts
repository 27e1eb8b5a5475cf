import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";

/** Traces of an account by OpenTelemetry's ids, in hexadecimal. */
export interface OtlpTracesToFind {
  accountId: string;
  otelTraceIds: readonly string[];
}

/** Traces that a request may look for at once. */
export const maxTracesToFind = 1_000;

/** What is stored of it, as far as it decides what a span changes. */
export interface StoredTrace {
  id: string;
  agentId: string;
  name: string;
  /** As `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  startedAt: string;
  rootSpanId: string | null;
}

/** Undefined where the account never had the trace, or it was deleted long ago. */
export type FoundTrace = StoredTrace | "deleted" | undefined;

/**
 * Traces by their OpenTelemetry ids, and whether those that are not there were deleted: one probe of
 * `trace_otel_trace_id_key` for each, and of `deleted_otel_trace_pkey` for what is new. A subquery for each, since a join
 * that is planned while the table is empty reads the whole index. Sessions speak UTC.
 */
const findTracesSql = `
  SELECT q.place::int, t.id, t.agent_id, t.name, to_char(t.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), t.root_span_id,
    CASE WHEN t.id IS NULL THEN EXISTS (
      SELECT FROM deleted_otel_trace d WHERE d.account_id = q.account_id AND d.otel_trace_id = q.otel_trace_id
    ) END
  FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS q (account_id, otel_trace_id, place)
  LEFT JOIN LATERAL (
    SELECT * FROM trace t
    WHERE t.account_id = q.account_id AND t.otel_trace_id = q.otel_trace_id AND t.otel_trace_id IS NOT NULL LIMIT 1
  ) t ON true`;

type FoundRow = [
  number,
  ...([string, string, string, string, string | null, null] | [null, null, null, null, null, boolean]),
];

/** Finds traces, in the order of their ids. */
export function createTraceFinder({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<OtlpTracesToFind, FoundTrace[]>({
    name: "find-otlp-trace",
    run: (requests) => findTraces(pool, requests),
    maxInFlight: 2,
    maxRows: maxTracesToFind,
    countOf: ({ otelTraceIds }) => otelTraceIds.length,
  });
}

async function findTraces(pool: pg.Pool, requests: readonly OtlpTracesToFind[]): Promise<FoundTrace[][]> {
  const { rows } = await pool.query<FoundRow>({
    name: "find-otlp-traces",
    text: findTracesSql,
    rowMode: "array",
    values: [
      requests.flatMap(({ accountId, otelTraceIds }) => otelTraceIds.map(() => accountId)),
      requests.flatMap(({ otelTraceIds }) => otelTraceIds.map((id) => `\\x${id}`)),
    ],
  });
  const found: FoundTrace[] = [];
  for (const [place, id, agentId, name, startedAt, rootSpanId, isDeleted] of rows) {
    if (id !== null) found[place - 1] = { id, agentId, name, startedAt, rootSpanId };
    else if (isDeleted) found[place - 1] = "deleted";
  }
  let start = 0;
  return requests.map(({ otelTraceIds: { length } }) => {
    const own = Array.from({ length }, (_, n) => found[start + n]);
    start += length;
    return own;
  });
}
