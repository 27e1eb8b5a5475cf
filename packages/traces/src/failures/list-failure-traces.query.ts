import type pg from "pg";
import { z } from "zod";
import {
  type ListedTrace,
  listedColumns,
  newestCursor,
  type TraceCursor,
  type TracePage,
} from "../list-traces.query.js";
import { cursorParameter, limitParameter, maxCountedTraces, readTimeAndId } from "../paging.js";
import { findFailingAgent, groupedSql, readGrouped, ungroupedSql } from "./grouped-traces.query.js";

export const failureTracesQuerySchema = z.object({
  limit: limitParameter,
  cursor: cursorParameter((text): TraceCursor | undefined => {
    const read = readTimeAndId(text);
    return read && read.rest.length === 0 ? { startedAt: read.time, id: read.id } : undefined;
  }),
});

/**
 * A page of a failure's traces, and those without a group before its end. Entries of `trace_listing_idx` in the order of lists,
 * at most $7, until $5 match; each is a probe of `trace_pkey` and of `trace_failure_pkey`.
 */
const failureTracesSql = `
  SELECT e.failure_id, ${listedColumns}
  FROM (
    SELECT c.id, c.started_at, f.failure_id FROM (
      SELECT id, started_at FROM trace
      WHERE account_id = $1 AND agent_id = $2 AND status IN ('error', 'timeout') AND (started_at, id) < ($3, $4)
      ORDER BY started_at DESC, id DESC LIMIT $7
    ) AS c
    CROSS JOIN LATERAL (SELECT written_at FROM trace WHERE account_id = $1 AND id = c.id OFFSET 0) AS w
    LEFT JOIN LATERAL (
      SELECT failure_id, written_at FROM trace_failure WHERE account_id = $1 AND trace_id = c.id OFFSET 0
    ) AS f ON f.written_at = w.written_at
    WHERE f.failure_id IS NULL OR f.failure_id = $6
    ORDER BY c.started_at DESC, c.id DESC LIMIT $5
  ) AS e
  CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = e.id OFFSET 0) AS t
  ORDER BY e.started_at DESC, e.id DESC`;

interface FailureTraces {
  accountId: string;
  failureId: string;
  cursor?: TraceCursor | undefined;
  limit: number;
}

/** A failure's traces, newest first. @throws AppError 404 */
export async function listFailureTraces(
  pool: pg.Pool,
  { accountId, failureId, cursor = newestCursor, limit }: FailureTraces,
): Promise<TracePage> {
  const agentId = await findFailingAgent(pool, accountId, failureId);
  const values = [accountId, agentId, cursor.startedAt, cursor.id, limit + 1, failureId, maxCountedTraces];
  const read = async () => {
    const statement = { name: "list-failure-traces", text: failureTracesSql, values };
    return (await pool.query<ListedTrace & { failure_id: string | null }>(statement)).rows;
  };
  let rows = await read();
  if (rows.some(({ failure_id: group }) => group === null)) {
    await groupAll(pool, accountId, agentId);
    rows = await read();
  }
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  // A trace may have failed meanwhile.
  const traces = page.filter(({ failure_id: group }) => group !== null);
  return { traces, next: last ? { startedAt: last.started_at, id: last.id } : null };
}

const groupAllSql = `WITH ${groupedSql("$5")} SELECT ${ungroupedSql} AS ungrouped`;

async function groupAll(pool: pg.Pool, accountId: string, agentId: string): Promise<void> {
  const values = [accountId, "-infinity", "infinity", agentId, maxCountedTraces];
  const statement = { name: "group-failures-of-agent", text: groupAllSql, values };
  await readGrouped(pool, accountId, async () => (await pool.query<{ ungrouped: string[] }>(statement)).rows);
}
