import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { groupFailures } from "./group-failures.js";

/** Ungrouped traces of one answer; the next one continues. */
const maxUngrouped = 10_000;
/** Rounds of grouping for one page: traces may fail meanwhile. */
const maxRounds = 30;

/**
 * SQL for two common table expressions over the failed traces of account $1 that started from $2 up to $3, of agent $4 if given:
 * `failed` has their ids, at most `max`, from `trace_listing_idx` alone. `grouped` has the group of each, null without a valid one:
 * never worked out, or changed since; a probe of `trace_pkey` and of `trace_failure_pkey` each.
 */
export function groupedSql(max: string, condition = "true"): string {
  return `failed AS MATERIALIZED (
    SELECT id FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND status IN ('error', 'timeout')
      AND ($4::text IS NULL OR agent_id = $4)
    ORDER BY started_at DESC, id DESC LIMIT ${max}
  ), grouped AS MATERIALIZED (
    SELECT failed.id, t.started_at, t.ended_at, f.failure_id FROM failed
    CROSS JOIN LATERAL (
      SELECT started_at, COALESCE(ended_at, started_at) AS ended_at, written_at FROM trace
      WHERE account_id = $1 AND id = failed.id AND ${condition} OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
      SELECT failure_id, written_at FROM trace_failure WHERE account_id = $1 AND trace_id = failed.id OFFSET 0
    ) AS f ON f.written_at = t.written_at
  )`;
}

/** The traces whose groups have to be worked out before the answer holds. */
export const ungroupedSql = `ARRAY(SELECT id FROM grouped WHERE failure_id IS NULL LIMIT ${maxUngrouped})`;

/** Reads again, after working out the groups of the first row's `ungrouped` traces, until there are none. */
export async function readGrouped<Row extends { ungrouped: string[] }>(
  pool: pg.Pool,
  accountId: string,
  read: () => Promise<Row[]>,
): Promise<Row[]> {
  for (let round = 1; ; round++) {
    const rows = await read();
    const ungrouped = rows[0]?.ungrouped ?? [];
    if (ungrouped.length === 0 || round === maxRounds) return rows;
    await groupFailures(
      pool,
      ungrouped.map((traceId) => ({ accountId, traceId })),
    );
  }
}

/** A probe of `failure_pkey`, whose account hides others' failures. */
const findFailureSql = "SELECT agent_id FROM failure WHERE account_id = $1 AND id = $2";

/** The agent of a failure. @throws AppError 404 */
export async function findFailingAgent(pool: pg.Pool, accountId: string, failureId: string): Promise<string> {
  const values = [accountId, failureId];
  const { rows } = isUuid(failureId) ? await pool.query<{ agent_id: string }>(findFailureSql, values) : { rows: [] };
  if (!rows[0]) throw new AppError("failure_not_found");
  return rows[0].agent_id;
}
