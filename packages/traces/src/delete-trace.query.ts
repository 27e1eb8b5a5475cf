import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { fewWaiting, type LoggedBatching, oneByOne } from "./batching.js";
import { lockCalls, settleCalls, settleTraces } from "./model-calls/settle-calls.query.js";

/** Takes a few tens of milliseconds. */
const maxSpansPerStatement = 5_000;

/**
 * Waits for the statements that add calls to the traces: these lock them FOR KEY SHARE until their commit. Probes of `trace_pkey`,
 * in the order of ids: two deletions cannot wait for each other.
 */
const lockTracesSql = "SELECT id FROM trace WHERE account_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR UPDATE";

/** The traces with unsettled calls: their ranges of `model_call_pkey`. */
const unsettledSql = `
  SELECT DISTINCT trace_id AS id FROM model_call
  WHERE account_id = $1 AND trace_id = ANY ($2::uuid[]) AND settle_at IS NOT NULL`;

/**
 * Removes a trace with its log records, contexts, scores, failure, visit and pending alerts (sent and failed ones stay), all or nothing; this hides its spans. An OpenTelemetry trace leaves its
 * id behind, so a repeated batch does not restore it. The row's lock lets one of several concurrent deletions find the trace.
 * One probe of `trace_pkey`, `trace_failure_pkey` and `trace_visit_pkey`, one range of `span_log_pkey`, `trace_context_pkey`,
 * `score_pkey` and of `alert_trace_idx`.
 */
const deleteTraceSql = `
  WITH gone AS (
    DELETE FROM trace WHERE account_id = $1 AND id = $2 RETURNING id, otel_trace_id
  ), remembered AS (
    INSERT INTO deleted_otel_trace (account_id, otel_trace_id)
    SELECT $1, otel_trace_id FROM gone WHERE otel_trace_id IS NOT NULL
    ON CONFLICT (account_id, otel_trace_id) DO UPDATE SET deleted_at = now()
  ), logs AS (
    DELETE FROM span_log WHERE account_id = $1 AND otel_trace_id IN (SELECT otel_trace_id FROM gone)
  ), contexts AS (
    DELETE FROM trace_context WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), failures AS (
    DELETE FROM trace_failure WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), scores AS (
    DELETE FROM score WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), visits AS (
    DELETE FROM trace_visit WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), alerts AS (
    DELETE FROM alert WHERE account_id = $1 AND trace_id = $2 AND sent_at IS NULL AND failed_at IS NULL
      AND EXISTS (SELECT FROM gone)
  )
  SELECT FROM gone`;

/** Removes up to $4 spans after $3 by a range of `span_pkey`. A repeated DELETE, or retention, removes spans left behind. */
const deleteSpansSql = `
  WITH chunk AS MATERIALIZED (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last FROM (
      SELECT id FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3
        AND NOT EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id = $2)
      ORDER BY id LIMIT $4
    ) s
  ), gone AS (
    DELETE FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3 AND id <= (SELECT last FROM chunk)
  )
  SELECT last FROM chunk`;

interface TracesToDelete {
  accountId: string;
  traceIds: readonly string[];
}

/** Deletes a trace; false for an unknown one. See {@link createTracesDeleter}. */
export function createTraceDeleter(deps: LoggedBatching, chunkSpans?: number) {
  const deleteTraces = createTracesDeleter(deps, chunkSpans);
  return async (accountId: string, traceId: string) => (await deleteTraces(accountId, [traceId])).length === 1;
}

/**
 * Deletes traces by one transaction, then their spans in chunks. Returns the ids of those that were there; of others the spans of
 * an interrupted deletion go.
 */
export function createTracesDeleter(deps: LoggedBatching, chunkSpans = maxSpansPerStatement) {
  const { pool, log } = deps;
  const deleteTraces = oneByOne(deps, "delete-trace", settleAndDelete, fewWaiting);
  const deleteSpans = oneByOne(deps, "delete-spans", deleteChunk, fewWaiting);
  return async (accountId: string, traceIds: readonly string[]): Promise<readonly string[]> => {
    // Most of the work, before the locks.
    for (const traceId of traceIds) await settleCalls(pool, accountId, traceId);
    const deleted = await deleteTraces({ accountId, traceIds });
    try {
      for (const traceId of traceIds)
        for (let after: string | null = smallestUuid; after !== null; )
          after = await deleteSpans({ accountId, traceId, after, chunkSpans });
    } catch (error) {
      if (deleted.length === 0) throw error;
      log.warn({ err: error, traceIds }, "spans of deleted traces are left to retention");
    }
    return deleted;
  };
}

async function deleteChunk(
  pool: pg.Pool,
  { accountId, traceId, after, chunkSpans }: Record<"accountId" | "traceId" | "after", string> & { chunkSpans: number },
): Promise<string | null> {
  const statement = { name: "delete-spans", text: deleteSpansSql, values: [accountId, traceId, after, chunkSpans] };
  const { rows } = await pool.query<{ last: string | null }>(statement);
  return rows[0]?.last ?? null;
}

/** Books the traces' last calls, and deletes them: the money is spent, and the sums keep it. */
function settleAndDelete(pool: pg.Pool, { accountId, traceIds }: TracesToDelete): Promise<string[]> {
  return withTransaction(pool, async (client) => {
    const idsOf = async (name: string, text: string, ids: readonly string[]) => {
      const { rows } = await client.query<{ id: string }>({ name, text, values: [accountId, ids] });
      return rows.map(({ id }) => id);
    };
    const found = await idsOf("lock-ending-traces", lockTracesSql, traceIds);
    const unsettled = await idsOf("find-unsettled-traces", unsettledSql, found);
    if (unsettled.length > 0) await lockCalls(client, accountId);
    for (const id of unsettled) await settleTraces(client, "ending", accountId, id);
    for (const id of found) await client.query({ name: "delete-trace", text: deleteTraceSql, values: [accountId, id] });
    return found;
  });
}
