import { textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import { figuresSchema, noFigures, readFigures } from "./agents/figures.query.js";
import { isoText, timestamp } from "./field-table.js";
import { noTokens, readTokensByAgent, tokenSumsSchema } from "./model-calls/read-token-sums.query.js";
import {
  checkRange,
  countedRange,
  cursorParameter,
  limitParameter,
  maxCountedTraces,
  pageOf,
  recentRange,
  refuseLarge,
} from "./paging.js";
import type { TraceStatus } from "./statuses.js";
import {
  givenLabels,
  type LabelsToFind,
  labelCondition,
  labelParameters,
  labelsSql,
  labelsToFind,
} from "./trace-fields.js";

/** `from` (included) and `to` (excluded) bound the starts of the counted traces. */
interface AgentsToList {
  accountId: string;
  from: string;
  to: string;
  /** The page begins after this agent; "" for a first page. */
  after: string;
  limit: number;
  /** Counts traces with them alone. */
  labels?: LabelsToFind;
  withFigures?: boolean;
}

/** An agent of a list, as answers show it. */
export const agentSchema = z.object({
  id: z.string(),
  created_at: timestamp,
  traces: z.object({ running: z.number(), success: z.number(), error: z.number(), timeout: z.number() }),
  last_started_at: timestamp.nullable().describe("The latest start of a trace in the range"),
  ...z.object({ ...figuresSchema.shape, ...tokenSumsSchema.shape }).partial().shape,
});

type ListedAgent = z.output<typeof agentSchema>;

export const agentQuerySchema = z
  .object({
    ...countedRange("traces"),
    include: z
      .enum(["figures"])
      .optional()
      .describe("`figures` adds failure rate, percentiles of the durations, tokens and cost"),
    ...labelParameters,
    limit: limitParameter,
    cursor: cursorParameter((text) => (text !== "" && textProblem(text) === undefined ? text : undefined)),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function agentsToList(accountId: string, query: z.output<typeof agentQuerySchema>, now: Date): AgentsToList {
  const { cursor: after = "", limit, include } = query;
  return {
    accountId,
    ...recentRange(query, now),
    after,
    limit,
    labels: labelsToFind(query),
    withFigures: include === "figures",
  };
}

/**
 * Reads $6 entries of `trace_listing_idx` at most, for labels with their rows, and a page of `agent_pkey`. `examined` above the
 * bound: too many traces.
 */
const listAgentsSql = (how: { hasLabels: boolean }) => `
  WITH examined AS (
    SELECT agent_id, status, started_at${how.hasLabels ? `, ${labelsSql(7)} AS is_found` : ""} FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND started_at < $3
    ORDER BY started_at DESC, id DESC LIMIT $6
  ), counted AS (
    SELECT agent_id, count(*) AS traces, max(started_at) AS last_started_at,
      count(*) FILTER (WHERE status = 'running') AS running, count(*) FILTER (WHERE status = 'success') AS success,
      count(*) FILTER (WHERE status = 'error') AS error, count(*) FILTER (WHERE status = 'timeout') AS timeout
    FROM examined ${how.hasLabels ? "WHERE is_found" : ""} GROUP BY agent_id
  ), page AS (
    SELECT id, created_at FROM agent WHERE account_id = $1 AND id > $4 ORDER BY id LIMIT $5
  )
  SELECT page.id, ${isoText("page.created_at")} AS created_at, ${isoText("counted.last_started_at")} AS last_started_at,
    COALESCE(running, 0) AS running, COALESCE(success, 0) AS success, COALESCE(error, 0) AS error,
    COALESCE(timeout, 0) AS timeout, ${how.hasLabels ? "(SELECT count(*)::int FROM examined)" : "(SELECT COALESCE(sum(traces), 0)::int FROM counted)"} AS examined
  FROM page LEFT JOIN counted ON counted.agent_id = page.id
  ORDER BY page.id`;

const statements = {
  all: { name: "list-agents", text: listAgentsSql({ hasLabels: false }) },
  labelled: { name: "list-agents-by-labels", text: listAgentsSql({ hasLabels: true }) },
};

interface Row extends Omit<ListedAgent, "traces">, Record<TraceStatus, number> {
  examined: number;
}

/** @throws AppError 400 on `from` if the range has more than {@link maxCountedTraces} traces */
export async function listAgents(pool: pg.Pool, query: AgentsToList) {
  const { accountId, from, to, after, limit, labels = {} } = query;
  // One row more than the page holds if the list goes on.
  const values = [accountId, from, to, after, limit + 1, maxCountedTraces + 1];
  const isLabelled = givenLabels(labels).length > 0;
  const { rows } = await pool.query<Row>(
    isLabelled
      ? { ...statements.labelled, values: [...values, ...labelCondition(labels).values] }
      : { ...statements.all, values },
  );
  refuseLarge(query, rows[0]?.examined ?? 0);
  const { page, next_cursor } = pageOf(rows, limit, ({ id }) => id);
  const agents = page.map(({ id, created_at, last_started_at, ...row }): ListedAgent => {
    const { running, success, error, timeout } = row;
    return { id, created_at, traces: { running, success, error, timeout }, last_started_at };
  });
  if (!query.withFigures) return { agents, from, to, next_cursor };
  const ids = agents.map(({ id }) => id);
  const condition = isLabelled ? labelCondition(labels) : undefined;
  const figures = await readFigures(pool, query, ids, condition);
  const tokens = await readTokensByAgent(pool, { accountId, from, to, labels: condition }, ids);
  const withFigures = agents.map((agent) => ({
    ...agent,
    ...(figures.get(agent.id) ?? noFigures),
    ...(tokens.get(agent.id) ?? noTokens),
  }));
  return { agents: withFigures, from, to, next_cursor };
}

/** Agents to choose from, at most. */
const maxAgentNames = 1_000;

/** The first agents of an account by id: a range of `agent_pkey` without the table. */
const listAgentNamesSql = "SELECT id FROM agent WHERE account_id = $1 ORDER BY id LIMIT $2";

export async function listAgentNames(pool: pg.Pool, accountId: string): Promise<string[]> {
  const statement = { name: "list-agent-names", text: listAgentNamesSql, values: [accountId, maxAgentNames] };
  const { rows } = await pool.query<{ id: string }>(statement);
  return rows.map(({ id }) => id);
}
