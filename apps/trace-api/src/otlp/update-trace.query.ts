import { insertAlertsSql, setAlertIdSql } from "@waymark/alerts";
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
import { agentInSql, type TraceName } from "@waymark/traces/otlp";
import { noteChangeSql } from "../model-calls/model-call.js";
import { addressOf, changeTraces } from "../traces/finalize-trace.query.js";
import { mergedLabelsSql, nameOriginSql } from "./find-traces.query.js";

/** The first root span sets the fields of its trace, a local root until one arrives. Before, another span sets the start. */
export interface TraceUpdate {
  accountId: string;
  traceId: string;
  /** Of an account with a limit of agents the one that counts, else the service of the span. Null leaves it unchanged. */
  agentId: string | null;
  /** As `toldAgentOf` has it. */
  toldAgent: string | null;
  /** Whether it becomes the trace's agent. */
  takesTold: boolean;
  /** Null leaves it unchanged. */
  name: TraceName | null;
  startedAt: string;
  /** JSON for `mergedLabelsSql`; null without any. */
  labels: string | null;
  /** Null for a span that is no root of either kind. */
  root: RootUpdate | null;
}

interface RootUpdate {
  spanId: string;
  isLocal: boolean;
  /** A failed root span of the trace: this one or another; null if none. */
  failedSpanId: string | null;
  hasFailedLocal: boolean;
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
  told_agent: { type: "bytea", of: ({ toldAgent }) => toldAgent && `\\x${toldAgent}` },
  takes_told: { type: "boolean", of: ({ takesTold }) => takesTold },
  name: { type: "text", of: ({ name }) => name?.text },
  name_origin: { type: "bytea", of: ({ name }) => name && `\\x${name.origin}` },
  started_at: { type: "timestamptz", of: ({ startedAt }) => startedAt },
  root_span_id: { type: "uuid", of: ({ root }) => root?.spanId },
  is_root_local: { type: "boolean", of: ({ root }) => root?.isLocal },
  failed_root_id: { type: "uuid", of: ({ root }) => root?.failedSpanId },
  has_failed_local: { type: "boolean", of: ({ root }) => root?.hasFailedLocal },
  ended_at: { type: "timestamptz", of: ({ root }) => root?.endedAt },
  metadata: { type: "json", of: ({ root }) => root?.metadata },
  new_alert_id: { type: "uuid", of: ({ root }) => root?.alertId },
  labels: { type: "json", of: ({ labels }) => labels },
};

const labelColumns = [...labelNames, "label_origins"];

const described = ["started_at", "metadata", "root_span_id", "is_root_local"];

const listSql = (table: string) => labelColumns.map((name) => `${table}.${name}`).join(", ");

/**
 * Updates traces from their spans, so the result does not depend on the order of arrival. The root span with the smallest
 * start and id describes the trace; before one arrives, the local root with these; before, the span with the smallest start and
 * service. Name, told agent and labels join by their origins. An agent that counts for an account without a limit is stored. A trace is a success until a root failed, of local roots unless a root
 * span is there: the first of its kind to arrive sets `error`. The first of either kind inserts an alert, even if a root span
 * has said otherwise: orders of arrival send as many mails. A repeated span changes nothing. The statement locks the rows first, and `skip` reports rows in another transaction's hands. Two probes of
 * `trace_pkey` each.
 */
const updateTracesSql = (onLock: OnLock) => `
  WITH changes AS MATERIALIZED (
    SELECT * FROM ${unnestSql(1, columns)}
  ), locked AS MATERIALIZED (
    SELECT t.account_id, t.id, leads, t.has_failed_root, t.has_failed_local_root,
      CASE WHEN leads AND c.root_span_id IS NOT NULL THEN c.is_root_local ELSE t.is_root_local IS TRUE END AS ends_local,
      t.has_failed_root IS NOT TRUE AND c.failed_root_id IS NOT NULL
        AND (leads OR c.failed_root_id <> t.root_span_id) AS fails,
      c.name_origin < ${nameOriginSql} AS renames, c.told_agent IS NOT NULL AND (t.told_agent IS NULL OR c.told_agent < t.told_agent) AS retells,
      CASE WHEN c.takes_told THEN ${agentInSql("LEAST(c.told_agent, t.told_agent)")} END AS agent_told,
      t.has_failed_local_root IS NOT TRUE AND c.has_failed_local IS TRUE AS fails_locally,
      ${listSql("m")}, (${listSql("m")}) IS DISTINCT FROM (${listSql("t")}) AS relabels
    FROM changes c JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN c.root_span_id IS NULL
          THEN t.root_span_id IS NULL AND (c.started_at, CASE WHEN t.told_agent IS NULL THEN COALESCE(c.agent_id, t.agent_id) ELSE '' END)
            < (t.started_at, CASE WHEN t.told_agent IS NULL THEN t.agent_id ELSE '' END)
        WHEN t.root_span_id IS NULL THEN true
        WHEN c.is_root_local <> (t.is_root_local IS TRUE) THEN t.is_root_local IS TRUE
        ELSE (c.started_at, c.root_span_id) < (t.started_at, t.root_span_id)
      END AS leads
    ) AS l
    CROSS JOIN LATERAL (
      SELECT ${mergedLabelsSql("c.labels")}
    ) AS m
    FOR NO KEY UPDATE OF t ${skipLockedSql(onLock)}
  ), decided AS MATERIALIZED (
    SELECT c.*, leads, fails, fails_locally, renames, retells, agent_told, ${listSql("locked")}, CASE
        WHEN is_error THEN 'error'
        WHEN leads AND c.root_span_id IS NOT NULL AND has_failed_root IS NOT TRUE
          AND NOT (ends_local AND has_failed_local_root IS TRUE) THEN 'success'
      END AS status, CASE WHEN is_error AND is_first THEN new_alert_id END AS alert_id,
      CASE WHEN NOT is_error AND fails_locally AND is_first THEN new_alert_id END AS other_alert_id
    FROM changes c JOIN locked USING (account_id, id)
    CROSS JOIN LATERAL (
      SELECT fails OR fails_locally AND ends_local AS is_error,
        has_failed_root IS NOT TRUE AND has_failed_local_root IS NOT TRUE AS is_first
    ) AS e
    WHERE leads OR fails OR fails_locally OR relabels OR renames OR retells
  ), updated AS (
    UPDATE trace t SET
      ${described.map((name) => `${name} = COALESCE(CASE WHEN c.leads THEN c.${name} END, t.${name})`).join(",\n      ")},
      agent_id = COALESCE(CASE WHEN leads OR retells THEN COALESCE(agent_told, c.agent_id) END, t.agent_id),
      told_agent = CASE WHEN retells THEN c.told_agent ELSE t.told_agent END,
      name = CASE WHEN renames THEN c.name ELSE t.name END,
      name_origin = CASE WHEN renames THEN c.name_origin ELSE t.name_origin END,
      ${labelColumns.map((name) => `${name} = c.${name}`).join(", ")},
      written_at = now(),
      has_failed_root = CASE WHEN c.fails THEN true ELSE t.has_failed_root END,
      has_failed_local_root = CASE WHEN c.fails_locally THEN true ELSE t.has_failed_local_root END,
      status = COALESCE(c.status, t.status),
      ${setStatusChangeSql},
      ended_at = CASE WHEN c.leads AND c.root_span_id IS NOT NULL THEN c.ended_at ELSE t.ended_at END,
      ${setAlertIdSql}
    FROM decided c WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING t.account_id, t.id, CASE WHEN c.takes_told AND (leads OR retells) AND t.root_span_id IS NOT NULL THEN t.agent_id END AS agent_id,
      'error' AS status, COALESCE(c.other_alert_id, t.alert_id) AS alert_id,
      COALESCE(c.other_alert_id, c.alert_id) = COALESCE(c.other_alert_id, t.alert_id) AS gets_alert
  ), new_agents AS (
    INSERT INTO agent (account_id, id) SELECT DISTINCT account_id, agent_id FROM updated WHERE agent_id IS NOT NULL
    ORDER BY account_id, agent_id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), noted AS (${noteChangeSql("updated", "id")}
  ), ${insertAlertsSql("updated")}
  SELECT c.account_id, c.id, a.id IS NOT NULL AS is_alert_new,
    locked.id IS NULL AND EXISTS (SELECT FROM trace t WHERE t.account_id = c.account_id AND t.id = c.id) AS is_locked
  FROM changes c LEFT JOIN locked USING (account_id, id)
  LEFT JOIN new_alerts a ON a.account_id = c.account_id AND a.id = c.new_alert_id`;

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
