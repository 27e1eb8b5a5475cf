import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { rowIsLocked } from "@waymark/database";
import {
  type Batching,
  type Columns,
  labelNames,
  type OnLock,
  onLockStatements,
  setStatusChangeSql,
  skipLockedSql,
  unnestSql,
} from "@waymark/traces";
import { noteChangeSql } from "../model-calls/model-call.js";
import { addressOf, changeTraces } from "../traces/finalize-trace.query.js";
import { mergedLabelsSql } from "./find-traces.query.js";

/** The first root span sets all fields of its trace. Until one arrives, another span sets name, agent and start. */
export interface TraceUpdate {
  accountId: string;
  traceId: string;
  /** Null leaves it unchanged. */
  agentId: string | null;
  name: string;
  startedAt: string;
  /** JSON for `mergedLabelsSql`; null without any. */
  labels: string | null;
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
  labels: { type: "json", of: ({ labels }) => labels },
};

const labelColumns = [...labelNames, "label_origins"];

/** Set by the span that describes the trace. */
const described = ["agent_id", "name", "started_at", "metadata", "root_span_id"];

/**
 * Updates traces from their spans, so the result does not depend on the order of arrival: the root span with the
 * smallest start and id describes the trace; before a root arrives, the span with the smallest start, name and agent. Labels
 * join by `mergedLabelsSql`. A trace is a success until a root failed: the first one to arrive sets `error`, once. A repeated span changes nothing. The statement inserts the alerts of failed roots by the rule of a finalization. It locks the rows first,
 * and `skip` reports rows in another transaction's hands. Two probes of `trace_pkey` each.
 */
const updateTracesSql = (onLock: OnLock) => `
  WITH changes AS MATERIALIZED (
    SELECT * FROM ${unnestSql(1, columns)}
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id, leads, t.has_failed_root, t.has_failed_root IS NOT TRUE AND c.failed_root_id IS NOT NULL
      AND (leads OR c.failed_root_id <> t.root_span_id) AS fails, ${labelColumns.map((name) => `m.${name}`).join(", ")},
      (${labelColumns.map((name) => `m.${name}`).join(", ")}) IS DISTINCT FROM (${labelColumns.map((name) => `t.${name}`).join(", ")}) AS relabels
    FROM changes c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN c.root_span_id IS NULL
          THEN t.root_span_id IS NULL AND (c.started_at, c.name, COALESCE(c.agent_id, t.agent_id)) < (t.started_at, t.name, t.agent_id)
        ELSE t.root_span_id IS NULL OR (c.started_at, c.root_span_id) < (t.started_at, t.root_span_id)
      END AS leads
    ) AS l
    CROSS JOIN LATERAL (
      SELECT ${mergedLabelsSql("c.labels")}
    ) AS m
    FOR NO KEY UPDATE OF t ${skipLockedSql(onLock)}
  ), decided AS MATERIALIZED (
    SELECT c.*, leads, fails, ${labelColumns.map((name) => `locked.${name}`).join(", ")}, CASE WHEN fails THEN 'error'
      WHEN leads AND c.root_span_id IS NOT NULL AND has_failed_root IS NOT TRUE THEN 'success' END AS status
    FROM changes c JOIN locked USING (account_id, id) WHERE leads OR fails OR relabels
  ), updated AS (
    UPDATE trace t SET
      ${described.map((name) => `${name} = COALESCE(CASE WHEN c.leads THEN c.${name} END, t.${name})`).join(",\n      ")},
      ${labelColumns.map((name) => `${name} = c.${name}`).join(", ")},
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

const statements = onLockStatements("update-otlp-traces", updateTracesSql);

/** Updates traces; each result is true where the alert with the given id is new. */
export function createTraceUpdater({ pool, createGroupCommit }: Batching) {
  const update = async (traces: readonly TraceUpdate[], onLock: OnLock) => {
    const answers = await changeTraces(pool, statements[onLock], traces, columns);
    return answers.map(([isAlertNew, isLocked]): boolean | typeof rowIsLocked =>
      // A trace that was deleted while the statement waited for its lock gets no alert.
      isLocked ? onLock === "skip" && rowIsLocked : isAlertNew === true,
    );
  };
  return createGroupCommit<TraceUpdate, boolean>({
    name: "settle-otlp-trace",
    run: (traces) => update(traces, "skip"),
    runLocked: (traces) => update(traces, "wait"),
    bytesOf: ({ root }) => root?.metadata.length ?? 0,
    targetOf: addressOf,
  });
}
