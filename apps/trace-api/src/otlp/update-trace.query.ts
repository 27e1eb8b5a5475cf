import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { type CreateGroupCommit, rowIsLocked } from "@waymark/database";
import type pg from "pg";

/** What a span decides about its trace: a root everything, another span a name, an agent and a start until a root comes. */
export interface TraceToSettle {
  accountId: string;
  traceId: string;
  /** Null to leave it as it is. */
  agentId: string | null;
  name: string;
  startedAt: string;
  /** Null where the span is no root. */
  root: RootDecision | null;
}

export interface RootDecision {
  spanId: string;
  status: "success" | "error";
  endedAt: string | null;
  /** The text of an object. */
  metadata: string;
  /** The id of its alert, where status and plan allow one; otherwise null. */
  alertId: string | null;
}

/**
 * Gives traces what their spans decide, so that the outcome does not hang on the order in which they came: of several roots
 * the one with the smallest start and id counts, before a root comes the span with the smallest start, name and agent. A
 * span that decided already changes nothing. The statement inserts the alerts of failed
 * roots by the rule that a finalization follows. Rows are locked first: those that another transaction has are told with `SKIP LOCKED`, and waited
 * for without. Two probes of `trace_pkey` for a trace.
 */
const settleTracesSql = (wait: "" | "SKIP LOCKED") => `
  WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::uuid[], $7::text[], $8::timestamptz[],
      $9::json[], $10::uuid[])
      AS c (account_id, id, agent_id, name, started_at, root_span_id, status, ended_at, metadata, alert_id)
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id FROM asked c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    FOR NO KEY UPDATE OF t ${wait}
  ), settled AS (
    UPDATE trace t SET
      agent_id = COALESCE(c.agent_id, t.agent_id), name = c.name, started_at = c.started_at, written_at = now(),
      status = COALESCE(c.status, t.status),
      ended_at = CASE WHEN c.root_span_id IS NULL THEN t.ended_at ELSE c.ended_at END,
      metadata = COALESCE(c.metadata, t.metadata),
      root_span_id = COALESCE(c.root_span_id, t.root_span_id),
      ${setAlertIdSql}
    FROM asked c JOIN locked USING (account_id, id)
    WHERE t.account_id = c.account_id AND t.id = c.id AND CASE
      WHEN c.root_span_id IS NULL
        THEN t.root_span_id IS NULL AND (c.started_at, c.name, COALESCE(c.agent_id, t.agent_id)) < (t.started_at, t.name, t.agent_id)
      ELSE t.root_span_id IS NULL OR (c.started_at, c.root_span_id) < (t.started_at, t.root_span_id)
    END
    RETURNING ${returnAlertIdSql}
  ), ${insertAlertsSql("settled")}
  SELECT c.account_id, c.id, a.id IS NOT NULL AS is_alert_new,
    locked.id IS NULL AND EXISTS (SELECT FROM trace t WHERE t.account_id = c.account_id AND t.id = c.id) AS is_locked
  FROM asked c LEFT JOIN locked USING (account_id, id)
  LEFT JOIN new_alerts a ON a.account_id = c.account_id AND a.id = c.alert_id`;

const settleUnlocked = { name: "settle-otlp-traces", text: settleTracesSql("SKIP LOCKED") };
const settleLocked = { name: "settle-locked-otlp-traces", text: settleTracesSql("") };

/** Settles traces; each result says whether the alert with the given id is new. */
export function createTraceSettler({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<TraceToSettle, boolean>({
    name: "settle-otlp-trace",
    run: (traces) => settleTraces(pool, settleUnlocked, traces),
    // A trace that was deleted while the statement waited for its lock gets no alert.
    runLocked: async (traces) =>
      (await settleTraces(pool, settleLocked, traces)).map((result) => result !== rowIsLocked && result),
    bytesOf: ({ root }) => root?.metadata.length ?? 0,
    targetOf: ({ accountId, traceId }) => accountId + traceId,
  });
}

async function settleTraces(
  pool: pg.Pool,
  statement: { name: string; text: string },
  traces: readonly TraceToSettle[],
): Promise<(boolean | typeof rowIsLocked)[]> {
  // In one order everywhere, so that statements of several instances lock the same rows one after the other.
  const sorted = traces.toSorted((a, b) => (a.accountId + a.traceId < b.accountId + b.traceId ? -1 : 1));
  const { rows } = await pool.query<[string, string, boolean, boolean]>({
    ...statement,
    rowMode: "array",
    values: [
      sorted.map(({ accountId }) => accountId),
      sorted.map(({ traceId }) => traceId),
      sorted.map(({ agentId }) => agentId),
      sorted.map(({ name }) => name),
      sorted.map(({ startedAt }) => startedAt),
      sorted.map(({ root }) => root?.spanId),
      sorted.map(({ root }) => root?.status),
      sorted.map(({ root }) => root?.endedAt),
      sorted.map(({ root }) => root?.metadata),
      sorted.map(({ root }) => root?.alertId),
    ],
  });
  const results = new Map<string, boolean | typeof rowIsLocked>();
  for (const [accountId, id, isAlertNew, isLocked] of rows)
    results.set(accountId + id, isLocked ? rowIsLocked : isAlertNew);
  return traces.map(({ accountId, traceId }) => results.get(accountId + traceId) ?? false);
}
