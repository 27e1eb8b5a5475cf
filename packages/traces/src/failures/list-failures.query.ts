import { isUuid } from "@waymark/database";
import { textField } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import { isoText, timestamp } from "../field-table.js";
import {
  checkRange,
  countedRange,
  cursorParameter,
  limitParameter,
  maxCountedTraces,
  pageOf,
  recentRange,
  refuseLarge,
} from "../paging.js";
import { type LabelsToFind, labelCondition, labelParameters, labelsSql, labelsToFind } from "../trace-fields.js";
import { groupFailures } from "./group-failures.js";

/** The end of a page: groups are listed by count, then id. */
interface FailureCursor {
  count: number;
  id: string;
}

/** `from` (included) and `to` (excluded) bound the starts of the counted traces. */
export interface FailuresToList {
  accountId: string;
  from: string;
  to: string;
  agentId?: string | undefined;
  labels?: LabelsToFind;
  after?: FailureCursor | undefined;
  limit: number;
}

/** What went wrong in some traces, as answers show it. */
export const failureSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  span_name: z
    .string()
    .nullable()
    .describe("The innermost failing span's name without numbers, ids and quotations; null without one"),
  error: z.string().nullable().describe("Its error without them; statuses, exit codes and classes of errors stay"),
  count: z.number().describe("Failed traces of the range"),
  first_at: timestamp.describe("The first end of a trace; its start where it has no end"),
  last_at: timestamp,
  trace_id: z.string().describe("The trace that ended last"),
  muted_until: timestamp.nullable().describe("The end of its mute, in the year 9999 for good; null if not muted"),
});

type ListedFailure = z.output<typeof failureSchema>;

export const failureQuerySchema = z
  .object({
    ...countedRange("traces"),
    agent_id: textField({ min: 1, max: 255 }).optional().describe("Counts traces of this agent alone"),
    ...labelParameters,
    limit: limitParameter,
    cursor: cursorParameter(readCursor),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function failuresToList(
  accountId: string,
  query: z.output<typeof failureQuerySchema>,
  now: Date,
): FailuresToList {
  const { agent_id: agentId, cursor: after, limit } = query;
  return { accountId, ...recentRange(query, now), agentId, labels: labelsToFind(query), after, limit };
}

function readCursor(text: string): FailureCursor | undefined {
  const [count = "", id = "", ...rest] = text.split(" ");
  return /^[1-9]\d{0,6}$/.test(count) && isUuid(id) && rest.length === 0 ? { count: Number(count), id } : undefined;
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
      SELECT COALESCE(ended_at, started_at) AS ended_at, written_at FROM trace
      WHERE account_id = $1 AND id = failed.id AND ${labelsSql(9)} OFFSET 0
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

/** Works out the groups of new failures before. @throws AppError 400 on `from` above `maxTraces` failed traces */
export async function listFailures(pool: pg.Pool, query: FailuresToList, maxTraces = maxCountedTraces) {
  const { accountId, from, to, agentId, labels, after, limit } = query;
  // One row more than the page holds if the list goes on.
  const values = [
    accountId,
    from,
    to,
    agentId,
    after?.count,
    after?.id,
    limit + 1,
    maxTraces + 1,
    ...labelCondition(labels).values,
  ];
  for (let round = 1; ; round++) {
    const { rows } = await pool.query<Row>({ name: "list-failures", text: listFailuresSql, values });
    const [{ examined, ungrouped } = { examined: 0, ungrouped: [] }] = rows;
    refuseLarge(query, examined, maxTraces, "traces failed");
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
    const { page, next_cursor } = pageOf(found, limit, ({ count, id }) => `${count} ${id}`);
    return { failures: page, next_cursor };
  }
}

interface TraceFailure {
  traceId: string;
  id: string;
  agentId: string;
  spanName: string | null;
  /** Without numbers, ids and quotations. */
  error: string | null;
  isMuted: boolean;
}

/** Failed traces of one account with a valid group: probes of `trace_pkey`, `trace_failure_pkey`, `failure_pkey` and `mute_pkey`. */
const readFailuresSql = `
  SELECT t.id AS "traceId", f.id, f.agent_id AS "agentId", f.span_name AS "spanName", f.error,
    m.failure_id IS NOT NULL AS "isMuted"
  FROM unnest($2::uuid[]) AS q (id)
  JOIN trace t ON t.account_id = $1 AND t.id = q.id AND t.status IN ('error', 'timeout')
  JOIN trace_failure g ON g.account_id = $1 AND g.trace_id = q.id AND g.written_at = t.written_at
  JOIN failure f ON f.account_id = $1 AND f.id = g.failure_id
  LEFT JOIN mute m ON m.account_id = $1 AND m.failure_id = f.id AND (m.until IS NULL OR m.until > now())`;

/** What went wrong in those of the account's traces that have failed, in no order; works it out where it is not known. */
export async function readTraceFailures(
  pool: pg.Pool,
  accountId: string,
  traceIds: readonly string[],
): Promise<TraceFailure[]> {
  const read = async (ids: readonly string[]) => {
    const statement = { name: "read-trace-failures", text: readFailuresSql, values: [accountId, ids] };
    return (await pool.query<TraceFailure>(statement)).rows;
  };
  const known = await read(traceIds);
  const isKnown = new Set(known.map(({ traceId }) => traceId));
  const missing = traceIds.filter((id) => !isKnown.has(id));
  if (missing.length === 0) return known;
  await groupFailures(
    pool,
    missing.map((traceId) => ({ accountId, traceId })),
  );
  return [...known, ...(await read(missing))];
}
