import { insertAlertsSql, returnAlertIdSql, setAlertIdSql } from "@waymark/alerts";
import { planIds, planOf } from "@waymark/plan";
import { setStatusChangeSql, uuidOf } from "@waymark/traces";
import { isGeneric, nameRanks, originOf } from "@waymark/traces/otlp";
import type pg from "pg";
import { type Changed, endTraces, hasRecentEndSql, type WrittenTrace } from "./close-stale-traces.query.js";

const plansWithAnyAgents = planIds.filter((id) => planOf(id).agents === null);

/**
 * Finds the local root of OpenTelemetry traces without a root span: of the spans whose parent has not come, the one with the
 * smallest start and id, and whether one of them failed. In a circle of parents the first span stands for it. Reads the
 * trace's range of `span_pkey` twice and sorts ids beside parents: a join without statistics compared each span with all.
 */
const findLocalRootsSql = `
  SELECT c.number::int, r.id, r.name, to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), r.ended_at::text, r.resource_id, first.has_failed
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS c (account_id, trace_id, number)
  CROSS JOIN LATERAL (
    SELECT id, COALESCE(bool_or(status = 'error') FILTER (WHERE NOT has_parent) OVER (), false) AS has_failed
    FROM (
      SELECT id, status, started_at, bool_or(id IS NULL) OVER (PARTITION BY key) AS has_parent FROM (
        SELECT ${uuidOf("parent_span_id")} AS key, id, status, started_at FROM span
        WHERE account_id = c.account_id AND trace_id = c.trace_id AND resource_id IS NOT NULL
        UNION ALL
        SELECT id, NULL, NULL, NULL FROM span WHERE account_id = c.account_id AND trace_id = c.trace_id
      ) AS keys
    ) AS spans WHERE id IS NOT NULL ORDER BY has_parent, started_at, id LIMIT 1
  ) AS first
  JOIN span r ON r.account_id = c.account_id AND r.trace_id = c.trace_id AND r.id = first.id`;

type LocalRoot = [
  number: number,
  spanId: string,
  name: string,
  startedAt: string,
  endedAt: string | null,
  resourceId: string,
  hasFailed: boolean,
];

/**
 * Ends traces by their local roots as the trace API does by those that say so, and inserts the alerts of failed ones, all or
 * nothing. Judges each trace under its lock, leaves those alone that were written since, and skips locked ones until a later
 * round. It reads no spans beside a lock: see `isSpanSql`. A probe of `trace_pkey` and `trace_context_pkey` for a trace.
 */
const settleLocalRootsSql = `
  WITH judged AS (
    SELECT t.account_id, t.id, t.otel_trace_id, c.written_at, c.last_write, c.alert_id AS new_alert_id, c.root_id, c.name,
      c.started_at, c.ended_at, c.resource_id, c.has_failed, c.name_origin,
      t.name_origin IS NULL OR c.name_origin < t.name_origin AS renames
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[], $8::uuid[], $9::text[],
      $10::timestamptz[], $11::timestamptz[], $12::bigint[], $13::boolean[], $15::bytea[])
      AS c (account_id, id, alert_id, written_at, last_write, root_id, name, started_at, ended_at, resource_id, has_failed, name_origin)
    JOIN trace t ON t.account_id = c.account_id AND t.id = c.id
    WHERE t.status = 'running' AND t.root_span_id IS NULL AND t.written_at = c.written_at
    FOR NO KEY UPDATE OF t SKIP LOCKED
  ), changes AS (
    SELECT j.*, CASE WHEN has_failed THEN 'error' ELSE 'success' END AS status,
      CASE WHEN has_failed AND ${hasRecentEndSql("j", "$6")} AND a.plan = ANY ($7::text[]) THEN new_alert_id END AS alert_id,
      '{"otel_trace_id":"' || encode(otel_trace_id, 'hex') || '","resource":' || (
        SELECT x.value::text FROM trace_context x WHERE x.account_id = j.account_id AND x.trace_id = j.id AND x.id = j.resource_id
      ) || '}' AS metadata
    FROM judged j LEFT JOIN account a ON a.id = j.account_id
  ), closed AS (
    UPDATE trace t SET
      name = CASE WHEN c.renames THEN c.name ELSE t.name END,
      name_origin = CASE WHEN c.renames THEN c.name_origin ELSE t.name_origin END, started_at = c.started_at, ended_at = c.ended_at, root_span_id = c.root_id, is_root_local = true,
      has_failed_local_root = NULLIF(c.has_failed, false), metadata = COALESCE(c.metadata::json, t.metadata),
      status = c.status,
      ${setStatusChangeSql},
      ${setAlertIdSql},
      written_at = now()
    FROM changes c WHERE t.account_id = c.account_id AND t.id = c.id
    RETURNING t.agent_id, ${returnAlertIdSql}
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT c.account_id, c.agent_id FROM closed c JOIN account a ON a.id = c.account_id
    WHERE a.plan = ANY ($14::text[]) ORDER BY c.account_id, c.agent_id
    ON CONFLICT (account_id, id) DO NOTHING
  ), ${insertAlertsSql("closed")}
  SELECT (SELECT count(*)::int FROM closed), a.account_id, a.id FROM (VALUES (1)) AS always LEFT JOIN new_alerts a ON true`;

/** A span's UUID holds its OpenTelemetry id: `spanUuid`. */
function originOfRoot([_, id, name, startedAt]: LocalRoot): string {
  const spanId = id.slice(15, 18) + id.slice(22, 23) + id.slice(24);
  return `\\x${originOf(isGeneric(name) ? nameRanks.genericLocalRoot : nameRanks.localRoot, { startedAt, spanId })}`;
}

/** Ends those of a portion of traces that have a local root, and returns the others. */
export async function settleLocalRoots(
  pool: pg.Pool,
  { traces, rootAfterMs, uuid }: { traces: readonly WrittenTrace[]; rootAfterMs: number; uuid: () => string },
): Promise<Changed & { left: WrittenTrace[] }> {
  if (traces.length === 0) return { closed: 0, alerts: [], left: [] };
  const { rows: roots } = await pool.query<LocalRoot>({
    text: findLocalRootsSql,
    rowMode: "array",
    values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId)],
  });
  const own = roots.map(([number]) => traces[number - 1] as WrittenTrace);
  const columns = [1, 2, 3, 4, 5, 6].map((column) => roots.map((root) => root[column]));
  const further = [...columns, plansWithAnyAgents, roots.map(originOfRoot)];
  const ended = await endTraces(pool, { sql: settleLocalRootsSql, traces: own, silenceMs: rootAfterMs, uuid, further });
  return { ...ended, left: traces.filter((trace) => !own.includes(trace)) };
}
