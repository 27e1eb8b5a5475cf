import type pg from "pg";
import { isoText } from "./field-table.js";

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
  /** Reads this agent alone. */
  agent?: string | undefined;
}

export interface AgentFigures {
  id: string;
  traces: number;
  /** Traces with `error` or `timeout`. */
  failures: number;
  /** The same of the days before. */
  before: { traces: number; failures: number };
  last_started_at: string;
  /** Days with traces, in order. */
  days: { day: string; traces: number; failures: number }[];
}

/**
 * The agents with most failures, each with its days. Reads one range of `trace_listing_idx` without the table, at most $6
 * entries, the latest.
 */
const readAgentFiguresSql = `
  WITH examined AS (
    SELECT agent_id, status, started_at FROM trace
    WHERE account_id = $1 AND started_at >= $2::date AND started_at < $4::date
    ORDER BY started_at DESC, id DESC LIMIT $6
  ), counted AS (
    SELECT agent_id, started_at::date AS day, count(*)::int AS traces, max(started_at) AS last_started_at,
      count(*) FILTER (WHERE status IN ('error', 'timeout'))::int AS failures
    FROM examined WHERE $5::text IS NULL OR agent_id = $5 GROUP BY 1, 2
  )
  SELECT agent_id AS id, ${isoText("max(last_started_at)")} AS last_started_at,
    COALESCE(sum(traces) FILTER (WHERE day >= $3::date), 0)::int AS traces,
    COALESCE(sum(failures) FILTER (WHERE day >= $3::date), 0)::int AS failures,
    json_build_object('traces', COALESCE(sum(traces) FILTER (WHERE day < $3::date), 0),
      'failures', COALESCE(sum(failures) FILTER (WHERE day < $3::date), 0))::text AS before,
    COALESCE(json_agg(json_build_object('day', day, 'traces', traces, 'failures', failures) ORDER BY day)
      FILTER (WHERE day >= $3::date), '[]')::text AS days
  FROM counted GROUP BY agent_id
  ORDER BY failures DESC, traces DESC, agent_id LIMIT ${maxAgents}`;

type Row = Omit<AgentFigures, "before" | "days"> & Record<"before" | "days", string>;

/** Counts per agent and day, at most 200 agents, those with most failures first. */
export async function readAgentFigures(pool: pg.Pool, days: AgentDays): Promise<AgentFigures[]> {
  const { accountId, before, from, to, agent } = days;
  const values = [accountId, before, from, to, agent ?? null, maxCountedTraces];
  const { rows } = await pool.query<Row>({ name: "read-agent-figures", text: readAgentFiguresSql, values });
  return rows.map((row) => ({ ...row, before: JSON.parse(row.before), days: JSON.parse(row.days) }));
}

export interface AgentDurations {
  id: string;
  p50_ms: number;
  p95_ms: number;
}

/** Durations stand in the table: at most $4 traces, the latest, by `trace_listing_idx`. */
const examinedSql = `
  WITH examined AS (
    SELECT id, agent_id, name, status, started_at, ended_at FROM trace
    WHERE account_id = $1 AND started_at >= $2::date AND started_at < $3::date
    ORDER BY started_at DESC, id DESC LIMIT $4
  )`;

const milliseconds = (interval: string) => `(extract(epoch FROM ${interval}) * 1000)::float8`;

/** The two percentiles of each agent's ended traces. Only these become numbers: 50,000 traces take 80 ms instead of 100. */
const readAgentDurationsSql = `${examinedSql}
  SELECT agent_id AS id, ${milliseconds("p[1]")} AS p50_ms, ${milliseconds("p[2]")} AS p95_ms FROM (
    SELECT agent_id, percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ended_at - started_at) AS p
    FROM examined WHERE ended_at >= started_at AND ($5::text IS NULL OR agent_id = $5) GROUP BY agent_id
  ) AS percentiles`;

export async function readAgentDurations(
  pool: pg.Pool,
  { accountId, from, to, agent }: Omit<AgentDays, "before">,
): Promise<AgentDurations[]> {
  const values = [accountId, from, to, maxDurations, agent ?? null];
  const query = { name: "read-agent-durations", text: readAgentDurationsSql, values };
  return (await pool.query<AgentDurations>(query)).rows;
}

/** The same for each day with ended traces of one agent, in order. */
const readDayDurationsSql = `${examinedSql}
  SELECT day::text, ${milliseconds("p[1]")} AS p50_ms, ${milliseconds("p[2]")} AS p95_ms FROM (
    SELECT started_at::date AS day, percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ended_at - started_at) AS p
    FROM examined WHERE ended_at >= started_at AND agent_id = $5 GROUP BY 1
  ) AS percentiles ORDER BY day`;

export interface DayDurations extends Omit<AgentDurations, "id"> {
  day: string;
}

export async function readDayDurations(
  pool: pg.Pool,
  { accountId, from, to, agent }: Omit<AgentTracesToRead, "limit">,
): Promise<DayDurations[]> {
  const values = [accountId, from, to, maxDurations, agent];
  const query = { name: "read-agent-day-durations", text: readDayDurationsSql, values };
  return (await pool.query<DayDurations>(query)).rows;
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

const readSlowestSql = `${examinedSql}
  SELECT ${shown} FROM examined WHERE agent_id = $5 AND ended_at >= examined.started_at
  ORDER BY ended_at - examined.started_at DESC, id LIMIT $6`;

const readFailuresSql = `${examinedSql}
  SELECT ${shown} FROM examined WHERE agent_id = $5 AND status IN ('error', 'timeout')
  ORDER BY examined.started_at DESC, id DESC LIMIT $6`;

interface AgentTracesToRead extends Pick<AgentDays, "accountId" | "from" | "to"> {
  agent: string;
  limit: number;
}

async function readTraces(pool: pg.Pool, name: string, text: string, read: AgentTracesToRead) {
  const values = [read.accountId, read.from, read.to, maxDurations, read.agent, read.limit];
  return (await pool.query<AgentTrace>({ name, text, values })).rows;
}

export function readSlowest(pool: pg.Pool, read: AgentTracesToRead): Promise<AgentTrace[]> {
  return readTraces(pool, "read-agent-slowest", readSlowestSql, read);
}

export function readFailures(pool: pg.Pool, read: AgentTracesToRead): Promise<AgentTrace[]> {
  return readTraces(pool, "read-agent-failures", readFailuresSql, read);
}
