import { AppError } from "@waymark/errors";
import type pg from "pg";
import { isoText } from "../field-table.js";
import { maxCountedTraces } from "../paging.js";
import { readNotes } from "../read-notes.query.js";
import { findFailingAgent, groupedSql, readGrouped, ungroupedSql } from "./grouped-traces.query.js";
import { isResolvedSql, mutedUntilSql } from "./list-failures.query.js";

/** A failure of an account, with the days from `from` up to `to`. */
export interface FailureToRead {
  accountId: string;
  failureId: string;
  from: string;
  to: string;
}

/**
 * A failure, what its traces tell, and its UTC days from $7 on. Reads all failed traces that the account has of its agent, the
 * latest $5: the first of them decides whether it is new, the last whether it is resolved.
 */
const readFailureSql = `
  WITH ${groupedSql("$5")}, own AS (SELECT * FROM grouped WHERE failure_id = $6), seen AS (
    SELECT count(*) FILTER (WHERE started_at >= $7)::int AS count, min(started_at) >= $7 AS is_new,
      min(ended_at) AS first_at, max(ended_at) AS last_at, (array_agg(id ORDER BY ended_at DESC, id DESC))[1] AS trace_id
    FROM own
  ), days AS (
    SELECT to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*)::int AS count
    FROM own WHERE started_at >= $7 GROUP BY 1 ORDER BY 1
  )
  SELECT ${ungroupedSql} AS ungrouped, f.id, f.agent_id, f.span_name, f.error, seen.count,
    COALESCE(seen.is_new, false) AS is_new, ${isoText("seen.first_at")} AS first_at, ${isoText("seen.last_at")} AS last_at,
    seen.trace_id, ${mutedUntilSql} AS muted_until, f.assigned_to,
    CASE WHEN ${isResolvedSql("seen.last_at")} THEN ${isoText("f.resolved_at")} END AS resolved_at,
    COALESCE((SELECT json_agg(days) FROM days)::text, '[]') AS days
  FROM failure f CROSS JOIN seen LEFT JOIN mute m ON m.account_id = $1 AND m.failure_id = f.id
  WHERE f.account_id = $1 AND f.id = $6`;

interface FailureDetail {
  id: string;
  agent_id: string;
  span_name: string | null;
  /** Without numbers, ids and quotations. */
  error: string | null;
  /** Of the days. */
  count: number;
  /** Whether its first trace started within the days; traces that are deleted do not count. */
  is_new: boolean;
  /** Of all its traces; null where none is left. */
  first_at: string | null;
  last_at: string | null;
  trace_id: string | null;
  muted_until: string | null;
  /** A person, perhaps of another account by now. */
  assigned_to: string | null;
  /** Null where it is open, or open again. */
  resolved_at: string | null;
  /** JSON; days with failures alone. */
  days: string;
}

/** With `text`: the latest trace's error as it was sent. @throws AppError 404 */
export async function readFailure(pool: pg.Pool, { accountId, failureId, from, to }: FailureToRead) {
  const agentId = await findFailingAgent(pool, accountId, failureId);
  const values = [accountId, "-infinity", to, agentId, maxCountedTraces, failureId, from];
  const statement = { name: "read-failure", text: readFailureSql, values };
  const read = async () => (await pool.query<FailureDetail & { ungrouped: string[] }>(statement)).rows;
  const [row] = await readGrouped(pool, accountId, read);
  if (!row) throw new AppError("failure_not_found");
  const { ungrouped: _ungrouped, ...failure } = {
    ...row,
    days: JSON.parse(row.days) as { day: string; count: number }[],
  };
  const [note] = failure.trace_id === null ? [] : await readNotes(pool, accountId, [failure.trace_id]);
  return { ...failure, text: note?.error ?? failure.error };
}
