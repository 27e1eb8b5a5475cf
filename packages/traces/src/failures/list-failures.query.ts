import { validationError } from "@waymark/errors";
import type pg from "pg";
import { isoText } from "../iso-text.js";
import { maxCountedTraces } from "../list-agents.query.js";
import { groupFailures } from "./group-failures.js";

/** The end of a page: groups are listed by count, then id. */
export interface FailureCursor {
  count: number;
  id: string;
}

/** `from` (included) and `to` (excluded) bound the starts of the counted traces. */
export interface FailuresToList {
  accountId: string;
  from: string;
  to: string;
  agentId?: string | undefined;
  after?: FailureCursor | undefined;
  limit: number;
}

interface ListedFailure {
  id: string;
  agent_id: string;
  span_name: string | null;
  error: string | null;
  count: number;
  /** The first and the last end of a trace; its start where it has no end. */
  first_at: string;
  last_at: string;
  /** The trace of the last end. */
  trace_id: string;
  muted_until: string | null;
}

export interface FailurePage {
  failures: ListedFailure[];
  isLast: boolean;
}

/** The `until` of a mute for good. */
const endOfTime = "9999-12-31T23:59:59.999Z";

/** Ungrouped traces of one answer; the next one continues. */
const maxUngrouped = 10_000;
/** Rounds of grouping for one page: traces may fail meanwhile. */
const maxRounds = 30;

/**
 * Counts the failed traces by group, and names those without a valid one: never worked out, or changed since. The failed traces
 * come from `trace_listing_idx` alone, at most $8; each is a probe of `trace_pkey` and of `trace_failure_pkey`.
 */
const listFailuresSql = `
  WITH failed AS MATERIALIZED (
    SELECT id FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND status IN ('error', 'timeout')
      AND ($4::text IS NULL OR agent_id = $4)
    ORDER BY started_at DESC, id DESC LIMIT $8
  ), grouped AS MATERIALIZED (
    SELECT failed.id, t.ended_at, f.failure_id FROM failed
    CROSS JOIN LATERAL (
      SELECT COALESCE(ended_at, started_at) AS ended_at, written_at FROM trace WHERE account_id = $1 AND id = failed.id OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
      SELECT failure_id, written_at FROM trace_failure WHERE account_id = $1 AND trace_id = failed.id OFFSET 0
    ) AS f ON f.written_at = t.written_at
  ), counted AS (
    SELECT failure_id AS id, count(*)::int AS count, min(ended_at) AS first_at, max(ended_at) AS last_at,
      (array_agg(id ORDER BY ended_at DESC, id DESC))[1] AS trace_id
    FROM grouped WHERE failure_id IS NOT NULL GROUP BY failure_id
  ), page AS (
    SELECT * FROM counted WHERE $5::int IS NULL OR count < $5 OR (count = $5 AND id > $6)
    ORDER BY count DESC, id LIMIT $7
  )
  SELECT (SELECT count(*)::int FROM failed) AS examined,
    ARRAY(SELECT id FROM grouped WHERE failure_id IS NULL LIMIT ${maxUngrouped}) AS ungrouped,
    page.id, f.agent_id, f.span_name, f.error, page.count, ${isoText("page.first_at")} AS first_at,
    ${isoText("page.last_at")} AS last_at, page.trace_id,
    CASE WHEN m.until > now() THEN ${isoText("m.until")} WHEN m.failure_id IS NOT NULL AND m.until IS NULL THEN '${endOfTime}' END
      AS muted_until
  FROM (VALUES (1)) AS always LEFT JOIN page ON true
  LEFT JOIN failure f ON f.account_id = $1 AND f.id = page.id
  LEFT JOIN mute m ON m.account_id = $1 AND m.failure_id = page.id
  ORDER BY page.count DESC, page.id`;

type Row = Omit<ListedFailure, "id"> & { id: string | null; examined: number; ungrouped: string[] };

/** Returns one row more than the page holds if the list goes on. */
function listFailuresStatement({ accountId, from, to, agentId, after, limit }: FailuresToList, maxTraces: number) {
  const values = [accountId, from, to, agentId, after?.count, after?.id, limit + 1, maxTraces + 1];
  return { name: "list-failures", text: listFailuresSql, values };
}

/**
 * Lists what went wrong in an account's traces, most frequent first, and works out the groups of new failures before.
 * @throws AppError 400 on `from` if the range has more than `maxTraces` failed traces
 */
export async function listFailures(
  pool: pg.Pool,
  query: FailuresToList,
  maxTraces = maxCountedTraces,
): Promise<FailurePage> {
  const { accountId, from, to, limit } = query;
  for (let round = 1; ; round++) {
    const { rows } = await pool.query<Row>(listFailuresStatement(query, maxTraces));
    const [{ examined, ungrouped } = { examined: 0, ungrouped: [] }] = rows;
    if (examined > maxTraces) {
      const most = maxTraces.toLocaleString("en");
      throw validationError({ from: `Must be later: more than ${most} traces failed from ${from} up to ${to}` });
    }
    if (ungrouped.length > 0 && round < maxRounds) {
      await groupFailures(
        pool,
        ungrouped.map((traceId) => ({ accountId, traceId })),
      );
      continue;
    }
    const found = rows.flatMap(({ examined: _examined, ungrouped: _ungrouped, id, ...row }) =>
      id === null ? [] : [{ id, ...row }],
    );
    return { failures: found.slice(0, limit), isLast: found.length <= limit };
  }
}
