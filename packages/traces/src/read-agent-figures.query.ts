import type pg from "pg";
import { isoText } from "./field-table.js";
import type { LabelCondition } from "./trace-fields.js";

/** An account within its plan never exceeds it: 60 days touch three months of 50,000 traces. */
const maxCountedTraces = 200_000;
/** Durations and errors are those of the latest traces. */
export const maxDurations = 50_000;
const maxAgents = 200;

/** The days of the figures, `YYYY-MM-DD` in UTC: `from` (included) to `to` (excluded), and as many before `from`. */
export interface AgentDays {
  accountId: string;
  before: string;
  from: string;
  to: string;
}

export interface AgentFigures {
  id: string;
  traces: number;
  /** Traces that are not running: failures are a share of them. */
  ended: number;
  /** Traces with `error` or `timeout`. */
  failures: number;
  /** The same of the days before. */
  before: { traces: number; ended: number; failures: number };
  last_started_at: string;
  /** Days with traces, in order. */
  days: { day: string; traces: number; failures: number }[];
}

/**
 * The agents with most failures, each with its days. Reads one range of `trace_listing_idx` without the table, at most $5
 * entries, the latest.
 */
const readAgentFiguresSql = `
  WITH examined AS (
    SELECT agent_id, status, started_at FROM trace
    WHERE account_id = $1 AND started_at >= $2::date AND started_at < $4::date
    ORDER BY started_at DESC, id DESC LIMIT $5
  ), counted AS (
    SELECT agent_id, started_at::date AS day, count(*)::int AS traces, count(*) FILTER (WHERE status <> 'running')::int AS ended, max(started_at) AS last_started_at,
      count(*) FILTER (WHERE status IN ('error', 'timeout'))::int AS failures
    FROM examined GROUP BY 1, 2
  )
  SELECT agent_id AS id, ${isoText("max(last_started_at)")} AS last_started_at,
    COALESCE(sum(traces) FILTER (WHERE day >= $3::date), 0)::int AS traces,
    COALESCE(sum(ended) FILTER (WHERE day >= $3::date), 0)::int AS ended,
    COALESCE(sum(failures) FILTER (WHERE day >= $3::date), 0)::int AS failures,
    json_build_object('traces', COALESCE(sum(traces) FILTER (WHERE day < $3::date), 0),
      'ended', COALESCE(sum(ended) FILTER (WHERE day < $3::date), 0),
      'failures', COALESCE(sum(failures) FILTER (WHERE day < $3::date), 0))::text AS before,
    COALESCE(json_agg(json_build_object('day', day, 'traces', traces, 'failures', failures) ORDER BY day)
      FILTER (WHERE day >= $3::date), '[]')::text AS days
  FROM counted GROUP BY agent_id
  ORDER BY failures DESC, traces DESC, agent_id LIMIT ${maxAgents}`;

type Row = Omit<AgentFigures, "before" | "days"> & Record<"before" | "days", string>;

/** Counts per agent and day, at most 200 agents, those with most failures first. */
export async function readAgentFigures(pool: pg.Pool, days: AgentDays): Promise<AgentFigures[]> {
  const { accountId, before, from, to } = days;
  const values = [accountId, before, from, to, maxCountedTraces];
  const { rows } = await pool.query<Row>({ name: "read-agent-figures", text: readAgentFiguresSql, values });
  return rows.map((row) => ({ ...row, before: JSON.parse(row.before), days: JSON.parse(row.days) }));
}

export interface AgentDurations {
  id: string;
  p50_ms: number;
  p95_ms: number;
}

/** Durations stand in the table: at most $4 traces, the latest, by `trace_listing_idx`. */
const examinedSql = (condition = "true", labels?: LabelCondition) => `
  WITH examined AS (
    SELECT id, agent_id, name, status, started_at, ended_at FROM trace
    WHERE account_id = $1 AND started_at >= $2::timestamptz AND started_at < $3::timestamptz AND ${condition}
      ${labels ? `AND ${labels.sql(7)}` : ""}
    ORDER BY started_at DESC, id DESC LIMIT $4
  )`;

const milliseconds = (interval: string) => `(extract(epoch FROM ${interval}) * 1000)::float8`;

/** The two percentiles of each agent's ended traces. Only these become numbers: 50,000 traces take 80 ms instead of 100. */
const readAgentDurationsSql = `${examinedSql()}
  SELECT agent_id AS id, ${milliseconds("p[1]")} AS p50_ms, ${milliseconds("p[2]")} AS p95_ms FROM (
    SELECT agent_id, percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ended_at - started_at) AS p
    FROM examined WHERE status <> 'running' AND ended_at >= started_at GROUP BY agent_id
  ) AS percentiles`;

export async function readAgentDurations(
  pool: pg.Pool,
  { accountId, from, to }: Omit<AgentDays, "before">,
): Promise<AgentDurations[]> {
  const values = [accountId, from, to, maxDurations];
  const query = { name: "read-agent-durations", text: readAgentDurationsSql, values };
  return (await pool.query<AgentDurations>(query)).rows;
}

export interface AgentTrace {
  id: string;
  name: string;
  status: string;
  started_at: string;
  duration_ms: number | null;
}

const shown = `id, name, status, ${isoText("started_at")} AS started_at,
    ${milliseconds("ended_at - started_at")} AS duration_ms`;

const readSlowestSql = (labels?: LabelCondition) => `${examinedSql("agent_id = $5", labels)}
  SELECT ${shown} FROM examined WHERE ended_at >= examined.started_at
  ORDER BY ended_at - examined.started_at DESC, id LIMIT $6`;

interface SlowestToRead {
  accountId: string;
  agentId: string;
  from: string;
  to: string;
  limit: number;
  labels: LabelCondition | undefined;
}

/** The slowest of an agent's latest traces. */
export async function readSlowest(pool: pg.Pool, read: SlowestToRead): Promise<AgentTrace[]> {
  const { accountId, agentId, from, to, limit, labels } = read;
  const values = [accountId, from, to, maxDurations, agentId, limit, ...(labels?.values ?? [])];
  const name = `read-agent-slowest${labels ? "-by-labels" : ""}`;
  return (await pool.query<AgentTrace>({ name, text: readSlowestSql(labels), values })).rows;
}
