import type pg from "pg";
import type { Purpose } from "../../analytics/attribution/machine-list.schema.js";
import { dimensionOf, lists, otherValue } from "../../lists/lists.js";
import type { Days } from "../range.js";

interface MachineFigures {
  readonly machine: string;
  readonly purpose: Purpose;
  readonly requests: number;
  readonly pages: number;
  readonly verified: number;
  readonly refuted: number;
  readonly errors: number;
  readonly missing: number;
  readonly blocked: number;
  readonly failed: number;
}

interface PageFigures {
  readonly path: string;
  readonly crawled: number;
  readonly answered: number;
  readonly referred: number;
}

/** Requests by what they are for: an index of pages or a model, or the answer to a person. */
export const purposesOf = {
  crawled: ["training", "search"],
  answered: ["assistant"],
} as const satisfies Record<string, readonly Purpose[]>;

const sumOf = (figure: keyof typeof purposesOf) =>
  `coalesce(sum(requests) FILTER (WHERE purpose IN (${purposesOf[figure].map((name) => `'${name}'`).join(", ")})), 0)`;

/**
 * The sums of each machine, and of the pages with most requests of crawlers and assistants, joined with the given visits by the
 * page they began with; `(other)` is unranked and last. Reads a range of `machine_day_pkey` and one of `machine_total_pkey`.
 */
const readSql = `
  WITH total AS MATERIALIZED (
    SELECT machine, max(purpose) AS purpose, sum(requests) AS requests, sum(verified) AS verified, sum(refuted) AS refuted,
      sum(errors) AS errors, sum(missing) AS missing, sum(blocked) AS blocked, sum(failed) AS failed
    FROM machine_total WHERE site_id = $1 AND day BETWEEN $2 AND $3 GROUP BY machine
  ), pair AS MATERIALIZED (
    SELECT machine, path, sum(requests) AS requests
    FROM machine_day WHERE site_id = $1 AND day BETWEEN $2 AND $3 GROUP BY machine, path
  ), page AS (
    SELECT path, ${sumOf("crawled")} AS crawled, ${sumOf("answered")} AS answered
    FROM (SELECT path, pair.requests, purpose FROM pair JOIN total USING (machine)) AS read GROUP BY path
  ), joined AS (
    SELECT path, coalesce(crawled, 0) AS crawled, coalesce(answered, 0) AS answered, coalesce(referred, 0) AS referred
    FROM page FULL JOIN unnest($4::text[], $5::int[]) AS sent (path, referred) USING (path)
  ), top AS (
    SELECT * FROM joined WHERE crawled + answered + referred > 0
    ORDER BY path = '${otherValue}' DESC, crawled + answered DESC, referred DESC, path COLLATE "C" LIMIT $6::int + 1
  )
  SELECT (
    SELECT coalesce(json_agg(json_build_object('machine', machine, 'purpose', purpose, 'requests', requests, 'pages', pages,
      'verified', verified, 'refuted', refuted, 'errors', errors, 'missing', missing, 'blocked', blocked, 'failed', failed)
      ORDER BY requests DESC, machine COLLATE "C"), '[]')
    FROM total JOIN (
      SELECT machine, count(*) FILTER (WHERE path <> '${otherValue}') AS pages FROM pair GROUP BY machine
    ) AS counted USING (machine)
  ) AS machines, (
    SELECT coalesce(json_agg(json_build_object('path', path, 'crawled', crawled, 'answered', answered, 'referred', referred)
      ORDER BY path = '${otherValue}', crawled + answered DESC, referred DESC, path COLLATE "C"), '[]') FROM top
  ) AS pages`;

export async function readMachineFigures(
  pool: pg.Pool,
  asked: { siteId: string; referred: ReadonlyMap<string, number>; limit: number } & Days,
): Promise<{ machines: readonly MachineFigures[]; pages: readonly PageFigures[] }> {
  const { siteId, first, last, referred, limit } = asked;
  const values = [siteId, first, last, [...referred.keys()], [...referred.values()], limit];
  const { rows } = await pool.query<{ machines: string; pages: string }>({
    name: "read-machines",
    text: readSql,
    values,
  });
  const machines: MachineFigures[] = JSON.parse(rows[0]?.machines ?? "[]");
  const pages: PageFigures[] = JSON.parse(rows[0]?.pages ?? "[]");
  const ranked = pages.filter(({ path }) => path !== otherValue).slice(0, limit);
  return { machines, pages: [...ranked, ...pages.filter(({ path }) => path === otherValue)] };
}

/** Requests by day, by a range of `machine_total_pkey`. */
const readDaysSql = `
  SELECT day::text, sum(requests)::float8 AS requests, ${sumOf("crawled")}::float8 AS crawled, ${sumOf("answered")}::float8 AS answered
  FROM machine_total WHERE site_id = $1 AND day BETWEEN $2 AND $3 GROUP BY day ORDER BY day`;

interface DayOfMachines {
  readonly day: string;
  readonly requests: number;
  readonly crawled: number;
  readonly answered: number;
}

export async function readMachineDays(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<DayOfMachines[]> {
  const query = { name: "read-machine-days", text: readDaysSql, values: [siteId, first, last] };
  return (await pool.query<DayOfMachines>(query)).rows;
}

/** The visitors of some pages, by a range of `daily_stat_pkey`. */
const readVisitorsSql = `
  SELECT value AS path, sum(visitors)::float8 AS visitors FROM daily_stat
  WHERE site_id = $1 AND dimension = $2 AND day BETWEEN $3 AND $4 AND value = ANY($5) GROUP BY value`;

export async function readVisitorsOf(
  pool: pg.Pool,
  { siteId, first, last, paths }: { siteId: string; paths: readonly string[] } & Days,
): Promise<Map<string, number>> {
  const values = [siteId, dimensionOf(lists.topPages, false), first, last, paths];
  const { rows } = await pool.query<{ path: string; visitors: number }>({
    name: "read-visitors-of",
    text: readVisitorsSql,
    values,
  });
  return new Map(rows.map(({ path, visitors }) => [path, visitors]));
}

/** Pages with most visitors, without those that a machine read. Reads a range of `daily_stat_pkey` and one of `machine_day_pkey`. */
const readUnreadSql = `
  WITH read AS (SELECT DISTINCT path FROM machine_day WHERE site_id = $1 AND day BETWEEN $3 AND $4)
  SELECT value AS path, sum(visitors)::float8 AS visitors FROM daily_stat
  WHERE site_id = $1 AND dimension = $2 AND day BETWEEN $3 AND $4 AND value <> '${otherValue}'
    AND value NOT IN (SELECT path FROM read)
  GROUP BY value HAVING sum(visitors) > 0 ORDER BY visitors DESC, value COLLATE "C" LIMIT $5`;

export async function readUnread(
  pool: pg.Pool,
  { siteId, first, last, limit }: { siteId: string; limit: number } & Days,
): Promise<{ path: string; visitors: number }[]> {
  const values = [siteId, dimensionOf(lists.topPages, false), first, last, limit];
  const query = { name: "read-unread", text: readUnreadSql, values };
  return (await pool.query<{ path: string; visitors: number }>(query)).rows;
}
