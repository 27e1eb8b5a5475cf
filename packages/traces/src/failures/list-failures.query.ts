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
import { groupedSql, readGrouped, ungroupedSql } from "./grouped-traces.query.js";

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
  /** Only resolved ones, or only open ones; both if not told. Traces of the range decide. */
  isResolved?: boolean | undefined;
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

/** SQL of when the mute `m` ends, as answers show it; null if it is over. */
export const mutedUntilSql = `CASE WHEN m.until > now() THEN ${isoText("m.until")}
  WHEN m.failure_id IS NOT NULL AND m.until IS NULL THEN '${endOfTime}' END`;

/**
 * SQL of whether the failure `f` is resolved: a person said so, and none of its traces has ended since. One that does opens it
 * again, without a write. The only place with this rule.
 */
export function isResolvedSql(lastAt: string): string {
  return `(f.resolved_at IS NOT NULL AND COALESCE(${lastAt} <= f.resolved_at, true))`;
}

/** Counts the failed traces by group, of $8 at most, and names those without one. $9 takes only resolved groups, or only open ones. */
const listFailuresSql = `
  WITH ${groupedSql("$8", labelsSql(10))}, counted AS (
    SELECT failure_id AS id, count(*)::int AS count, min(ended_at) AS first_at, max(ended_at) AS last_at,
      (array_agg(id ORDER BY ended_at DESC, id DESC))[1] AS trace_id
    FROM grouped WHERE failure_id IS NOT NULL GROUP BY failure_id
  ), page AS (
    SELECT counted.*, f.agent_id, f.span_name, f.error FROM counted
    LEFT JOIN failure f ON f.account_id = $1 AND f.id = counted.id
    WHERE ($5::int IS NULL OR count < $5 OR (count = $5 AND counted.id > $6))
      AND ($9::bool IS NULL OR $9 = ${isResolvedSql("counted.last_at")})
    ORDER BY count DESC, counted.id LIMIT $7
  )
  SELECT (SELECT count(*)::int FROM failed) AS examined, ${ungroupedSql} AS ungrouped,
    page.id, page.agent_id, page.span_name, page.error, page.count, ${isoText("page.first_at")} AS first_at,
    ${isoText("page.last_at")} AS last_at, page.trace_id, ${mutedUntilSql} AS muted_until
  FROM (VALUES (1)) AS always LEFT JOIN page ON true
  LEFT JOIN mute m ON m.account_id = $1 AND m.failure_id = page.id
  ORDER BY page.count DESC, page.id`;

type Row = Omit<ListedFailure, "id"> & { id: string | null; examined: number; ungrouped: string[] };

/** Works out the groups of new failures before. @throws AppError 400 on `from` above `maxTraces` failed traces */
export async function listFailures(pool: pg.Pool, query: FailuresToList, maxTraces = maxCountedTraces) {
  const { accountId, from, to, agentId, labels, after, limit, isResolved } = query;
  // One row more than the page holds if the list goes on.
  const values = [
    ...[accountId, from, to, agentId, after?.count, after?.id, limit + 1, maxTraces + 1, isResolved],
    ...labelCondition(labels).values,
  ];
  const rows = await readGrouped(pool, accountId, async () => {
    const { rows: read } = await pool.query<Row>({ name: "list-failures", text: listFailuresSql, values });
    refuseLarge(query, read[0]?.examined ?? 0, maxTraces, "traces failed");
    return read;
  });
  const found = rows.flatMap(({ examined: _examined, ungrouped: _ungrouped, id, ...row }) =>
    id === null ? [] : [{ id, ...row }],
  );
  const { page, next_cursor } = pageOf(found, limit, ({ count, id }) => `${count} ${id}`);
  return { failures: page, next_cursor };
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
