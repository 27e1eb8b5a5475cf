import type pg from "pg";
import { durationsSql, type Figures, figuresSql } from "./figures.js";

/** Reads the account's range of `trace_listing_idx` with its rows, and sorts the durations of each agent asked for. */
const readFiguresSql = `
  WITH counted AS (
    SELECT agent_id, count(*) FILTER (WHERE status = 'success') AS success,
      count(*) FILTER (WHERE status = 'error') AS error, count(*) FILTER (WHERE status = 'timeout') AS timeout,
      ${durationsSql} AS durations
    FROM trace WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND agent_id = ANY ($4)
    GROUP BY agent_id
  )
  SELECT agent_id, ${figuresSql("counted")} FROM counted`;

/** The figures of those agents that have traces in the range, by agent. */
export async function readFigures(
  pool: pg.Pool,
  { accountId, from, to }: { accountId: string; from: string; to: string },
  agentIds: readonly string[],
): Promise<Map<string, Figures>> {
  const statement = { name: "read-agents-figures", text: readFiguresSql, values: [accountId, from, to, agentIds] };
  const { rows } = await pool.query<Figures & { agent_id: string }>(statement);
  return new Map(rows.map(({ agent_id, ...figures }) => [agent_id, figures]));
}
