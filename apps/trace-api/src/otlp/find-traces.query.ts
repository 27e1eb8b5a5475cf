import type { Batching } from "@waymark/traces";
import type pg from "pg";

export interface OtlpTracesToFind {
  accountId: string;
  /** In hexadecimal. */
  otelTraceIds: readonly string[];
}

/** Ids of one look-up. */
export const maxTracesToFind = 1_000;

/** The stored fields that decide whether a span changes the trace. */
export interface StoredTrace {
  id: string;
  agentId: string;
  name: string;
  /** As `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  startedAt: string;
  rootSpanId: string | null;
  hasFailedRoot: boolean;
}

/** Undefined for an unknown trace, or one that was deleted long ago. */
export type FoundTrace = StoredTrace | "deleted" | undefined;

/**
 * Finds traces by their OpenTelemetry ids, and whether absent ones were deleted. One probe of `trace_otel_trace_id_key` for
 * each id, and of `deleted_otel_trace_pkey` for each absent one. A subquery makes these probes: a join planned on an empty
 * table would read the whole index. Sessions use UTC.
 */
const findTracesSql = `
  SELECT q.number::int, t.id, t.agent_id, t.name, to_char(t.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), t.root_span_id, t.has_failed_root,
    CASE WHEN t.id IS NULL THEN EXISTS (
      SELECT FROM deleted_otel_trace d WHERE d.account_id = q.account_id AND d.otel_trace_id = q.otel_trace_id
    ) END
  FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS q (account_id, otel_trace_id, number)
  LEFT JOIN LATERAL (
    SELECT * FROM trace t
    WHERE t.account_id = q.account_id AND t.otel_trace_id = q.otel_trace_id AND t.otel_trace_id IS NOT NULL LIMIT 1
  ) t ON true`;

type FoundRow = [
  number,
  ...(
    | [string, string, string, string, string | null, boolean | null, null]
    | [null, null, null, null, null, null, boolean]
  ),
];

/** Finds traces; the results have the order of the ids. */
export function createTraceFinder({ pool, createGroupCommit }: Batching) {
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
  for (const [number, id, agentId, name, startedAt, rootSpanId, hasFailedRoot, isDeleted] of rows) {
    if (id !== null)
      found[number - 1] = { id, agentId, name, startedAt, rootSpanId, hasFailedRoot: hasFailedRoot === true };
    else if (isDeleted) found[number - 1] = "deleted";
  }
  let start = 0;
  return requests.map(({ otelTraceIds: { length } }) => {
    const own = Array.from({ length }, (_, n) => found[start + n]);
    start += length;
    return own;
  });
}
