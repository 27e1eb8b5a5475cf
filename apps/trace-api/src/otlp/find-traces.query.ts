import type pg from "pg";
import type { Gather } from "../gather.js";

/** A trace of an account by OpenTelemetry's id, in hexadecimal. */
export interface OtlpTraceKey {
  accountId: string;
  otelTraceId: string;
}

/** What is stored of it, as far as it decides what a span changes. */
export interface StoredTrace {
  id: string;
  agentId: string;
  name: string;
  /** As `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  startedAt: string;
  rootSpanId: string | null;
}

/**
 * Traces by their OpenTelemetry ids: one probe of `trace_otel_trace_id_key` for each. A subquery for each, since a join that
 * is planned while the table is empty reads the whole index. Sessions speak UTC.
 */
const findTracesSql = `
  SELECT q.place::int, t.id, t.agent_id, t.name, to_char(t.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), t.root_span_id
  FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS q (account_id, otel_trace_id, place),
  LATERAL (
    SELECT * FROM trace t
    WHERE t.account_id = q.account_id AND t.otel_trace_id = q.otel_trace_id AND t.otel_trace_id IS NOT NULL LIMIT 1
  ) t`;

/** Finds traces; undefined where the account has none with the id. */
export function createTraceFinder({ pool, gather }: { pool: pg.Pool; gather: Gather }) {
  return gather<OtlpTraceKey, StoredTrace | undefined>({
    name: "find-otlp-trace",
    run: (keys) => findTraces(pool, keys),
    maxInFlight: 2,
  });
}

async function findTraces(pool: pg.Pool, keys: readonly OtlpTraceKey[]): Promise<(StoredTrace | undefined)[]> {
  const { rows } = await pool.query<[number, string, string, string, string, string | null]>({
    name: "find-otlp-traces",
    text: findTracesSql,
    rowMode: "array",
    values: [keys.map(({ accountId }) => accountId), keys.map(({ otelTraceId }) => `\\x${otelTraceId}`)],
  });
  const results: (StoredTrace | undefined)[] = keys.map(() => undefined);
  for (const [place, id, agentId, name, startedAt, rootSpanId] of rows) {
    results[place - 1] = { id, agentId, name, startedAt, rootSpanId };
  }
  return results;
}
