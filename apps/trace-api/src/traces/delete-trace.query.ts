import { deletePendingAlertsSql } from "@waymark/alerts";
import type { CreateGroupCommit } from "@waymark/database";
import { idBeforeAll } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";
import { oneAtATime } from "../batching/one-at-a-time.js";

/** Spans that one statement deletes: a few tens of milliseconds, whatever the trace has. */
const maxSpansPerStatement = 5_000;
/** Statements in flight, one of each account, so that deleting leaves connections to others. */
const oneDeletion = { ...oneAtATime, maxWaitingRows: 200 } as const;

/**
 * Removes a trace with its contexts and pending alerts, all or nothing; its spans are not found from then on. An
 * OpenTelemetry trace leaves its id behind, so that an exporter that repeats a batch does not bring it back. The trace's row
 * is locked, so that of concurrent deletions one finds it; the worker sends no mail for a trace that is gone. One probe of
 * `trace_pkey`, one range of `trace_context_pkey` and of `alert_trace_idx`.
 */
const deleteTraceSql = `
  WITH gone AS (
    DELETE FROM trace WHERE account_id = $1 AND id = $2 RETURNING id, otel_trace_id
  ), remembered AS (
    INSERT INTO deleted_otel_trace (account_id, otel_trace_id)
    SELECT $1, otel_trace_id FROM gone WHERE otel_trace_id IS NOT NULL
    ON CONFLICT (account_id, otel_trace_id) DO UPDATE SET deleted_at = now()
  ), contexts AS (
    DELETE FROM trace_context WHERE account_id = $1 AND trace_id = $2 AND EXISTS (SELECT FROM gone)
  ), alerts AS (
    ${deletePendingAlertsSql} AND EXISTS (SELECT FROM gone)
  )
  SELECT FROM gone`;

/**
 * Removes the spans of a trace that is gone, after a given one ($3) and $4 at most, and tells the last of them. One range of
 * `span_pkey`; no lock is held from one piece to the next. A later DELETE of the same trace,
 * or retention, removes the spans that a killed process or a concurrent write leaves.
 */
const deleteSpansSql = `
  WITH piece AS MATERIALIZED (
    SELECT (array_agg(id ORDER BY id DESC))[1] AS last FROM (
      SELECT id FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3
        AND NOT EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id = $2)
      ORDER BY id LIMIT $4
    ) s
  ), gone AS (
    DELETE FROM span WHERE account_id = $1 AND trace_id = $2 AND id > $3 AND id <= (SELECT last FROM piece)
  )
  SELECT last FROM piece`;

/** The statement that makes a trace disappear. */
export function deleteTraceStatement(accountId: string, traceId: string) {
  return { name: "delete-trace", text: deleteTraceSql, values: [accountId, traceId] };
}

interface SpansToDelete {
  accountId: string;
  traceId: string;
  after: string;
}

export interface DeleteTraceDeps {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  log: Logger;
}

/**
 * Removes traces: first what makes them appear, then their spans in pieces.
 * @param pieceSpans spans of one piece at most
 * @returns a function that gives false where the account has no trace with the id; it clears what an earlier one left
 */
export function createTraceDeleter(
  { pool, createGroupCommit, log }: DeleteTraceDeps,
  pieceSpans = maxSpansPerStatement,
) {
  const deleteTrace = createGroupCommit<Omit<SpansToDelete, "after">, boolean>({
    name: "delete-trace",
    run: (traces) =>
      Promise.all(
        traces.map(async ({ accountId, traceId }) => {
          const { rowCount } = await pool.query(deleteTraceStatement(accountId, traceId));
          return rowCount === 1;
        }),
      ),
    ...oneDeletion,
  });
  const deleteSpans = createGroupCommit<SpansToDelete, string | null>({
    name: "delete-spans",
    run: (pieces) =>
      Promise.all(
        pieces.map(async ({ accountId, traceId, after }) => {
          const values = [accountId, traceId, after, pieceSpans];
          const { rows } = await pool.query<{ last: string | null }>({
            name: "delete-spans",
            text: deleteSpansSql,
            values,
          });
          return rows[0]?.last ?? null;
        }),
      ),
    ...oneDeletion,
  });
  return async (accountId: string, traceId: string): Promise<boolean> => {
    const isDeleted = await deleteTrace({ accountId, traceId });
    try {
      for (let after: string | null = idBeforeAll; after !== null; )
        after = await deleteSpans({ accountId, traceId, after });
    } catch (error) {
      if (!isDeleted) throw error;
      log.warn({ err: error, traceId }, "spans of a deleted trace are left to retention");
    }
    return isDeleted;
  };
}
