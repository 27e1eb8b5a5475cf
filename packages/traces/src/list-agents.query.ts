import type pg from "pg";
import { isoText } from "./iso-text.js";
import type { TraceStatus } from "./statuses.js";

/** Which of an account's agents are asked for, and of which traces their figures are. */
export interface AgentsToList {
  accountId: string;
  /** The first start that counts. */
  from: string;
  /** The first start that does not count any more. */
  to: string;
  /** The page has the agents after this one. */
  after: string;
  /** Agents at most. */
  limit: number;
}

/** An agent and its traces in the range. */
export interface ListedAgent {
  id: string;
  created_at: string;
  traces: Record<TraceStatus, number>;
  last_started_at: string | null;
}

/** Agents, and whether none come after them. */
export interface AgentPage {
  agents: ListedAgent[];
  isLast: boolean;
}

/**
 * What a Pro account can create in the 90 days for which traces are kept, which touch five months at most: nobody who
 * lives within the plan meets this bound.
 */
export const maxTraces = 250_000;

/**
 * Agents by id, each with its traces of the range by status; agents that only
 * traces name are left out. One range of `trace_listing_idx`, read without the table, of $6 entries at most, and a page
 * of `agent_pkey`. `examined` is the number of entries, so that one more than the bound tells that there are too many.
 */
const listAgentsSql = `
  WITH examined AS (
    SELECT agent_id, status, started_at FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND started_at < $3
    ORDER BY started_at DESC, id DESC LIMIT $6
  ), counted AS (
    SELECT agent_id, count(*) AS traces, max(started_at) AS last_started_at,
      count(*) FILTER (WHERE status = 'running') AS running, count(*) FILTER (WHERE status = 'success') AS success,
      count(*) FILTER (WHERE status = 'error') AS error, count(*) FILTER (WHERE status = 'timeout') AS timeout
    FROM examined GROUP BY agent_id
  ), page AS (
    SELECT id, created_at FROM agent WHERE account_id = $1 AND id > $4 ORDER BY id LIMIT $5
  )
  SELECT page.id, ${isoText("page.created_at")} AS created_at, ${isoText("counted.last_started_at")} AS last_started_at,
    COALESCE(running, 0) AS running, COALESCE(success, 0) AS success, COALESCE(error, 0) AS error,
    COALESCE(timeout, 0) AS timeout, (SELECT COALESCE(sum(traces), 0)::int FROM counted) AS examined
  FROM page LEFT JOIN counted ON counted.agent_id = page.id
  ORDER BY page.id`;

interface Row extends Omit<ListedAgent, "traces">, Record<TraceStatus, number> {
  examined: number;
}

/** The statement for a page, which gives one row more than the page holds where anything comes after it. */
export function listAgentsStatement({ accountId, from, to, after, limit }: AgentsToList) {
  return { name: "list-agents", text: listAgentsSql, values: [accountId, from, to, after, limit + 1, maxTraces + 1] };
}

/** A page of agents; undefined where the range holds more than {@link maxTraces} traces. */
export async function listAgents(pool: pg.Pool, query: AgentsToList): Promise<AgentPage | undefined> {
  const { rows } = await pool.query<Row>(listAgentsStatement(query));
  if ((rows[0]?.examined ?? 0) > maxTraces) return undefined;
  const agents = rows.slice(0, query.limit).map(({ id, created_at, last_started_at, ...row }) => {
    const { running, success, error, timeout } = row;
    return { id, created_at, traces: { running, success, error, timeout }, last_started_at };
  });
  return { agents, isLast: rows.length <= query.limit };
}
