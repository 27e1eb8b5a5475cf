import { countedCallsSql } from "@waymark/traces";
import { visitHashSql } from "@waymark/web-stats/analytics";
import { type VisitRuns, visitSql } from "@waymark/web-stats/statistics";
import type pg from "pg";

/** Of a site and day; the visitors after them do not count. */
const maxVisitors = 20_000;
/** Of a visitor, the first ones; the others do not count. */
const maxRuns = 100;
/** Visits of one statement. */
const batchVisits = 2_000;

export interface DayToSum {
  accountId: string;
  siteId: string;
  day: string;
  keys: { inner: Buffer; outer: Buffer };
}

/** The last visitor of the next visits after $3: a range of `visit_pkey`. */
const findLastSql = `
  SELECT max(visitor)::text AS last, count(*)::int AS visits FROM (
    SELECT visitor FROM visit WHERE site_id = $1 AND day = $2 AND visitor > $3 ORDER BY visitor LIMIT ${batchVisits}
  ) AS batch`;

const visitsOf = (visitor: string) =>
  `visit WHERE site_id = $1 AND day = $2 AND visitor = ${visitor} AND ${visitSql.counts}`;

/**
 * The visits of visitors after $3 up to $4 for whom the account's agents ran, in order of visitor and beginning, with the runs
 * that began in each or before the next one. A range of `visit_pkey`, probes of `trace_visit_account_id_visit_idx` and
 * `trace_pkey`, ranges of `model_call_pkey`. Sessions use UTC.
 */
const readRunsSql = `
  WITH known AS MATERIALIZED (
    SELECT visitor, ${visitHashSql({ inner: "$6::bytea", outer: "$7::bytea" }, "$1::uuid::text", "visitor::text")} AS hash
    FROM (SELECT DISTINCT visitor FROM visit WHERE site_id = $1 AND day = $2 AND visitor > $3 AND visitor <= $4) AS batch
  ), run AS MATERIALIZED (
    SELECT visitor, status, started_at, ended_at, cost, COALESCE(
      (SELECT first_us FROM ${visitsOf("found.visitor")} AND first_us <= extract(epoch FROM started_at - $2::date) * 1000000
       ORDER BY first_us DESC LIMIT 1),
      (SELECT first_us FROM ${visitsOf("found.visitor")} ORDER BY first_us LIMIT 1)) AS first_us
    FROM (
      SELECT known.visitor, v.trace_id, row_number() OVER (PARTITION BY known.visitor ORDER BY v.trace_id) AS place
      FROM known JOIN trace_visit v ON v.account_id = $5 AND v.visit = known.hash
    ) AS found
    JOIN trace t ON t.account_id = $5 AND t.id = found.trace_id
    CROSS JOIN LATERAL (
      SELECT COALESCE(sum(cost), 0) AS cost FROM ${countedCallsSql} WHERE account_id = $5 AND trace_id = found.trace_id
    ) AS calls
    WHERE place <= ${maxRuns} AND started_at >= $2::date AND started_at < $2::date + 1
  ), sums AS MATERIALIZED (
    SELECT visitor, first_us, count(*)::int AS runs, count(*) FILTER (WHERE status IN ('error', 'timeout'))::int AS failures,
      sum(cost) AS cost, sum(GREATEST(0, round(extract(epoch FROM ended_at - started_at) * 1000)))::float8 AS ms
    FROM run WHERE first_us IS NOT NULL GROUP BY visitor, first_us
  )
  SELECT visit.visitor::text AS visitor, COALESCE(runs, 0) AS runs, COALESCE(failures, 0) AS failures,
    round(COALESCE(cost, 0) * 1e12)::text AS cost, COALESCE(ms, 0) AS "durationMs"
  FROM visit LEFT JOIN sums ON sums.visitor = visit.visitor AND sums.first_us = visit.first_us
  WHERE site_id = $1 AND day = $2 AND visit.visitor > $3 AND visit.visitor <= $4 AND ${visitSql.counts}
    AND visit.visitor IN (SELECT visitor FROM sums)
  ORDER BY visit.visitor, visit.first_us`;

const smallest = String(-(2n ** 63n));

/** Reads a part of the day at a time. @param client in a transaction that sees one moment */
export async function readRuns(
  client: pg.ClientBase,
  { accountId, siteId, day, keys }: DayToSum,
): Promise<readonly VisitRuns[]> {
  const found: VisitRuns[] = [];
  const visitors = new Set<string>();
  let after = smallest;
  let isLast = false;
  while (!isLast) {
    const { rows: ends } = await client.query<{ last: string | null; visits: number }>(findLastSql, [
      siteId,
      day,
      after,
    ]);
    const { last = null, visits = 0 } = ends[0] ?? {};
    if (last === null) break;
    isLast = visits < batchVisits;
    const values = [siteId, day, after, last, accountId, keys.inner, keys.outer];
    const { rows } = await client.query<VisitRuns & { cost: string }>(readRunsSql, values);
    for (const row of rows) {
      if (visitors.size === maxVisitors && !visitors.has(row.visitor)) return found;
      visitors.add(row.visitor);
      found.push({ ...row, cost: BigInt(row.cost) });
    }
    after = last;
  }
  return found;
}
