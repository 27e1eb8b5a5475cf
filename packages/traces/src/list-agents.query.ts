import { validationError } from "@waymark/errors";
import type pg from "pg";
import { type Figures, noFigures } from "./agents/figures.js";
import { readFigures } from "./agents/read-figures.query.js";
import { isoText } from "./iso-text.js";
import { noTokens, readTokensByAgent, type TokenSums } from "./model-calls/read-token-sums.query.js";
import type { TraceStatus } from "./statuses.js";

/** `from` (included) and `to` (excluded) bound the starts of the counted traces. */
export interface AgentsToList {
  accountId: string;
  from: string;
  to: string;
  /** The page begins after this agent; "" for a first page. */
  after: string;
  limit: number;
  withFigures?: boolean;
}

interface ListedAgent extends Partial<Figures & TokenSums> {
  id: string;
  created_at: string;
  traces: Record<TraceStatus, number>;
  last_started_at: string | null;
}

export interface AgentPage {
  agents: ListedAgent[];
  from: string;
  to: string;
  isLast: boolean;
}

/** An account within its plan never exceeds it: the 90 days of Pro touch five months of 50,000 traces. */
export const maxCountedTraces = 250_000;

/** Reads $6 entries of `trace_listing_idx` at most, and a page of `agent_pkey`. `examined` above the bound: too many traces. */
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

/** Returns one row more than the page holds if the list goes on. */
function listAgentsStatement({ accountId, from, to, after, limit }: AgentsToList) {
  const values = [accountId, from, to, after, limit + 1, maxCountedTraces + 1];
  return { name: "list-agents", text: listAgentsSql, values };
}

/** @throws AppError 400 on `from` if the range has more than {@link maxCountedTraces} traces */
export async function listAgents(pool: pg.Pool, query: AgentsToList): Promise<AgentPage> {
  const { from, to } = query;
  const { rows } = await pool.query<Row>(listAgentsStatement(query));
  if ((rows[0]?.examined ?? 0) > maxCountedTraces) {
    const most = maxCountedTraces.toLocaleString("en");
    throw validationError({ from: `Must be later: more than ${most} traces started from ${from} up to ${to}` });
  }
  const agents = rows.slice(0, query.limit).map(({ id, created_at, last_started_at, ...row }) => {
    const { running, success, error, timeout } = row;
    return { id, created_at, traces: { running, success, error, timeout }, last_started_at };
  });
  const isLast = rows.length <= query.limit;
  if (!query.withFigures) return { agents, from, to, isLast };
  const figures = await readFigures(
    pool,
    query,
    agents.map(({ id }) => id),
  );
  const tokens = await readTokensByAgent(
    pool,
    query,
    agents.map(({ id }) => id),
  );
  const withFigures = agents.map((agent) => ({
    ...agent,
    ...(figures.get(agent.id) ?? noFigures),
    ...(tokens.get(agent.id) ?? noTokens),
  }));
  return { agents: withFigures, from, to, isLast };
}
