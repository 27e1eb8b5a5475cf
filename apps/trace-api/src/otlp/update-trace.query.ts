import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { type CreateGroupCommit, rowIsLocked } from "@waymark/database";
import { type Columns, columnArrays, setStatusChangeSql, unnestSql } from "@waymark/traces";
import type pg from "pg";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import { noteChangeSql } from "../model-calls/model-call.js";

/** The first root span sets all fields of its trace. Until one arrives, another span sets name, agent and start. */
export interface TraceUpdate {
  accountId: string;
  traceId: string;
  /** Null leaves it unchanged. */
  agentId: string | null;
  name: string;
  startedAt: string;
  /** Null for a span that is no root. */
  root: RootUpdate | null;
}

interface RootUpdate {
  spanId: string;
  /** A failed root span of the trace: this one or another; null if none. */
  failedSpanId: string | null;
  endedAt: string | null;
  /** A JSON object as text. */
  metadata: string;
  /** The id of its alert; null if no root failed or the plan allows none. */
  alertId: string | null;
}

const columns: Columns<TraceUpdate> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  id: { type: "uuid", of: ({ traceId }) => traceId },
  agent_id: { type: "text", of: ({ agentId }) => agentId },
  name: { type: "text", of: ({ name }) => name },
  started_at: { type: "timestamptz", of: ({ startedAt }) => startedAt },
  root_span_id: { type: "uuid", of: ({ root }) => root?.spanId },
  failed_root_id: { type: "uuid", of: ({ root }) => root?.failedSpanId },
  ended_at: { type: "timestamptz", of: ({ root }) => root?.endedAt },
  metadata: { type: "json", of: ({ root }) => root?.metadata },
  alert_id: { type: "uuid", of: ({ root }) => root?.alertId },
};

/** Set by the span that describes the trace. */
const described = ["agent_id", "name", "started_at", "metadata", "root_span_id"];

/**
 * Updates traces from their spans, so the result does not depend on the order of arrival: the root span with the
 * smallest start and id describes the trace; before a root arrives, the span with the smallest start, name and agent. A trace
 * is a success until a root failed: the first one to arrive sets `error`, once. A repeated span changes nothing. The statement inserts the alerts of failed roots by the rule of a finalization. It locks the rows first,
 * and `skip` reports rows in another transaction's hands. Two probes of `trace_pkey` each.
 */
const updateTracesSql = (onLock: OnLock) => `
  WITH changes AS MATERIALIZED (
    SELECT * FROM ${unnestSql(1, columns)}
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id, leads, t.has_failed_root, t.has_failed_root IS NOT TRUE AND c.failed_root_id IS NOT NULL
      AND (leads OR c.failed_root_id <> t.root_span_id) AS fails
    FROM changes c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN c.root_span_id IS NULL
          THEN t.root_span_id IS NULL AND (c.started_at, c.name, COALESCE(c.agent_id, t.agent_id)) < (t.started_at, t.name, t.agent_id)
        ELSE t.root_span_id IS NULL OR (c.started_at, c.root_span_id) < (t.started_at, t.root_span_id)
      END AS leads
    ) AS l
    FOR NO KEY UPDATE OF t ${skipLockedSql(onLock)}
  ), decided AS MATERIALIZED (
    SELECT c.*, leads, fails, CASE WHEN fails THEN 'error'
      WHEN leads AND c.root_span_id IS NOT NULL AND has_failed_root IS NOT TRUE THEN 'success' END AS status
    FROM changes c JOIN locked USING (account_id, id) WHERE leads OR fails
  ), updated AS (
    UPDATE trace t SET
      ${described.map((name) => `${name} = COALESCE(CASE WHEN c.leads THEN c.${name} END, t.${name})`).join(",\n      ")},
      written_at = now(),
      has_failed_root = CASE WHEN c.fails THEN true ELSE t.has_failed_root END,
      status = COALESCE(c.status, t.status),
      ${setStatusChangeSql},
      ended_at = CASE WHEN c.leads AND c.root_span_id IS NOT NULL THEN c.ended_at ELSE t.ended_at END,
      ${setAlertIdSql}
    FROM decided c WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING ${returnAlertIdSql}
  ), noted AS (${noteChangeSql("updated", "id")}
  ), ${insertAlertsSql("updated")}
  SELECT c.account_id, c.id, a.id IS NOT NULL AS is_alert_new,
    locked.id IS NULL AND EXISTS (SELECT FROM trace t WHERE t.account_id = c.account_id AND t.id = c.id) AS is_locked
  FROM changes c LEFT JOIN locked USING (account_id, id)
  LEFT JOIN new_alerts a ON a.account_id = c.account_id AND a.id = c.alert_id`;

const updateUnlocked = { name: "update-otlp-traces", text: updateTracesSql("skip") };
const updateLocked = { name: "update-locked-otlp-traces", text: updateTracesSql("wait") };

/** Updates traces; each result is true where the alert with the given id is new. */
export function createTraceUpdater({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<TraceUpdate, boolean>({
    name: "settle-otlp-trace",
    run: (traces) => updateTraces(pool, updateUnlocked, traces),
    // A trace that was deleted while the statement waited for its lock gets no alert.
    runLocked: async (traces) =>
      (await updateTraces(pool, updateLocked, traces)).map((result) => result !== rowIsLocked && result),
    bytesOf: ({ root }) => root?.metadata.length ?? 0,
    targetOf: ({ accountId, traceId }) => accountId + traceId,
  });
}

async function updateTraces(
  pool: pg.Pool,
  statement: { name: string; text: string },
  traces: readonly TraceUpdate[],
): Promise<(boolean | typeof rowIsLocked)[]> {
  // One order everywhere: statements of several instances lock the same rows in turn and do not deadlock.
  const sorted = traces.toSorted((a, b) => (a.accountId + a.traceId < b.accountId + b.traceId ? -1 : 1));
  const { rows } = await pool.query<[string, string, boolean, boolean]>({
    ...statement,
    rowMode: "array",
    values: columnArrays(sorted, columns),
  });
  const results = new Map<string, boolean | typeof rowIsLocked>();
  for (const [accountId, id, isAlertNew, isLocked] of rows)
    results.set(accountId + id, isLocked ? rowIsLocked : isAlertNew);
  return traces.map(({ accountId, traceId }) => results.get(accountId + traceId) ?? false);
}
