import type pg from "pg";
import type { Purpose } from "../../analytics/attribution/machine-list.schema.js";
import { dimensionOf, lists, otherValue } from "../../lists/lists.js";
import type { Filter } from "../filters/filter.js";
import type { Days } from "../range.js";

/** The requests that a report is about. */
export interface Requests extends Days {
  readonly siteId: string;
  /** Filters of `page`. */
  readonly pages: readonly Filter[];
  /** Machines by name, or all others. */
  readonly machines: { readonly names: readonly string[]; readonly isExcluded: boolean } | undefined;
}

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

export interface PageFigures {
  readonly path: string;
  readonly crawled: number;
  readonly answered: number;
  readonly referred: number;
  readonly machines: { readonly name: string; readonly requests: number }[];
}

export interface ReadFigures {
  readonly machines: readonly MachineFigures[];
  readonly pages: readonly PageFigures[];
}

/** Requests by what they are for: an index of pages or a model, or the answer to a person. */
export const purposesOf = {
  crawled: ["training", "search"],
  answered: ["assistant"],
} as const satisfies Record<string, readonly Purpose[]>;

/** Machines of a page in an answer, those with most requests. */
export const maxReaders = 5;

const sumOf = (figure: keyof typeof purposesOf) =>
  `coalesce(sum(requests) FILTER (WHERE purpose IN (${purposesOf[figure].map((name) => `'${name}'`).join(", ")})), 0)`;

interface Condition {
  /** The one with the fewest rows. */
  readonly table: "machine_total" | "machine_day";
  readonly condition: string;
  readonly ofPages: string;
}

/**
 * Writes which rows count, with the site and days as $1 to $3 and the filters' values after the given ones. Filters of pages leave
 * out `(other)`, which stands for any.
 */
function conditionOf({ pages, machines }: Requests, values: unknown[]): Condition {
  // No path and no name has NUL, which Postgres refuses.
  const put = (texts: readonly string[]) => `$${values.push(texts.filter((text) => !text.includes("\0")))}::text[]`;
  const ofPages = pages.map(({ values: wanted, isPart, isNegated }) => {
    const has = isPart
      ? `EXISTS (SELECT FROM unnest(${put(wanted)}) AS part WHERE strpos(path, part) > 0)`
      : `path = ANY(${put(wanted)})`;
    return `path <> '${otherValue}' AND ${isNegated ? "NOT " : ""}${has}`;
  });
  const ofMachines = machines ? [`${machines.isExcluded ? "NOT " : ""}machine = ANY(${put(machines.names)})`] : [];
  return {
    table: pages.length === 0 ? "machine_total" : "machine_day",
    condition: ["site_id = $1 AND day BETWEEN $2 AND $3", ...ofMachines, ...ofPages].join(" AND "),
    ofPages: ["true", ...ofPages].join(" AND "),
  };
}

const sumsSql = `
    SELECT machine, max(purpose) AS purpose, sum(requests) AS requests, sum(verified) AS verified, sum(refuted) AS refuted,
      sum(errors) AS errors, sum(missing) AS missing, sum(blocked) AS blocked, sum(failed) AS failed`;

/**
 * The sums of each machine, and of the pages with most requests of crawlers and assistants, joined with the given visits by the
 * page they began with, and with the machines that read them most; `(other)` is unranked and last. Reads a range of
 * `machine_day_pkey` and one of `machine_total_pkey`.
 */
const writeReadSql = ({ table, condition }: Condition) => `
  WITH total AS MATERIALIZED (
    ${sumsSql} FROM ${table} WHERE ${condition} GROUP BY machine
  ), pair AS MATERIALIZED (
    SELECT machine, path, sum(requests) AS requests FROM machine_day WHERE ${condition} GROUP BY machine, path
  ), page AS (
    SELECT path, ${sumOf("crawled")} AS crawled, ${sumOf("answered")} AS answered
    FROM (SELECT path, pair.requests, purpose FROM pair JOIN total USING (machine)) AS read GROUP BY path
  ), joined AS (
    SELECT path, coalesce(crawled, 0) AS crawled, coalesce(answered, 0) AS answered, coalesce(referred, 0) AS referred
    FROM page FULL JOIN unnest($4::text[], $5::int[]) AS sent (path, referred) USING (path)
  ), top AS MATERIALIZED (
    SELECT * FROM joined WHERE crawled + answered + referred > 0
    ORDER BY path = '${otherValue}' DESC, crawled + answered DESC, referred DESC, path COLLATE "C" LIMIT $6::int + 1
  ), reader AS (
    SELECT path, json_agg(json_build_object('name', machine, 'requests', requests) ORDER BY place) AS machines
    FROM (
      SELECT path, machine, requests, row_number() OVER (PARTITION BY path ORDER BY requests DESC, machine COLLATE "C") AS place
      FROM pair WHERE path IN (SELECT path FROM top)
    ) AS ranked WHERE place <= ${maxReaders} GROUP BY path
  )
  SELECT (
    SELECT coalesce(json_agg(json_build_object('machine', machine, 'purpose', purpose, 'requests', requests, 'pages', pages,
      'verified', verified, 'refuted', refuted, 'errors', errors, 'missing', missing, 'blocked', blocked, 'failed', failed)
      ORDER BY requests DESC, machine COLLATE "C"), '[]')
    FROM total JOIN (
      SELECT machine, count(*) FILTER (WHERE path <> '${otherValue}') AS pages FROM pair GROUP BY machine
    ) AS counted USING (machine)
  ) AS machines, (
    SELECT coalesce(json_agg(json_build_object('path', path, 'crawled', crawled, 'answered', answered, 'referred', referred,
      'machines', coalesce(machines, '[]'))
      ORDER BY path = '${otherValue}', crawled + answered DESC, referred DESC, path COLLATE "C"), '[]')
    FROM top LEFT JOIN reader USING (path)
  ) AS pages`;

export async function readMachineFigures(
  pool: pg.Pool,
  asked: Requests & { referred: ReadonlyMap<string, number>; limit: number },
): Promise<ReadFigures> {
  const { siteId, first, last, referred, limit } = asked;
  const values: unknown[] = [siteId, first, last, [...referred.keys()], [...referred.values()], limit];
  const { rows } = await pool.query<{ machines: string; pages: string }>(
    nameOf("read-machines", asked, { text: writeReadSql(conditionOf(asked, values)), values }),
  );
  const machines: MachineFigures[] = JSON.parse(rows[0]?.machines ?? "[]");
  const pages: PageFigures[] = JSON.parse(rows[0]?.pages ?? "[]");
  const ranked = pages.filter(({ path }) => path !== otherValue).slice(0, limit);
  return { machines, pages: [...ranked, ...pages.filter(({ path }) => path === otherValue)] };
}

/** The sums of each machine, by a range of `machine_total_pkey`. */
const readSumsSql = `
  SELECT coalesce(json_agg(total ORDER BY requests DESC, machine COLLATE "C"), '[]') AS machines
  FROM (${sumsSql} FROM machine_total WHERE site_id = $1 AND day BETWEEN $2 AND $3 GROUP BY machine) AS total`;

export async function readMachineSums(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<Omit<MachineFigures, "pages">[]> {
  const query = { name: "read-machine-sums", text: readSumsSql, values: [siteId, first, last] };
  return JSON.parse((await pool.query<{ machines: string }>(query)).rows[0]?.machines ?? "[]");
}

/** Pairs of machine and path with their requests, by a range of `machine_day_pkey`; a row of nulls alone for too many. */
const readPairsSql = `
  WITH pair AS MATERIALIZED (
    SELECT machine, path, sum(requests)::float8 AS requests
    FROM machine_day WHERE site_id = $1 AND day BETWEEN $2 AND $3 GROUP BY machine, path
  ), size AS MATERIALIZED (SELECT count(*) <= $4 AND coalesce(sum(length(path)), 0) <= $5 AS fits FROM pair)
  SELECT machine, path, requests FROM pair WHERE (SELECT fits FROM size)
  UNION ALL SELECT NULL, NULL, NULL FROM size WHERE NOT fits`;

/** Of one reading; characters are of its paths. */
const pairBounds = { pairs: 50_000, characters: 8_000_000 } as const;

interface Pair {
  readonly machine: string;
  readonly path: string;
  readonly requests: number;
}

/** @returns undefined for more than `pairBounds` */
export async function readPairs(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<Pair[] | undefined> {
  const values = [siteId, first, last, pairBounds.pairs, pairBounds.characters];
  const { rows } = await pool.query<Pair>({ name: "read-machine-pairs", text: readPairsSql, values });
  return rows[0] && rows[0].machine === null ? undefined : rows;
}

/** A statement without filters is prepared; those with filters differ. */
function nameOf(
  name: string,
  { pages, machines }: Requests,
  query: { text: string; values: unknown[] },
): pg.QueryConfig {
  return pages.length === 0 && !machines ? { name, ...query } : query;
}

/** Requests by day, by a range of `machine_total_pkey`, or of `machine_day_pkey` for some pages. */
const writeDaysSql = ({ table, condition }: Condition) => `
  SELECT day::text, sum(requests)::float8 AS requests, ${sumOf("crawled")}::float8 AS crawled, ${sumOf("answered")}::float8 AS answered
  FROM ${table} WHERE ${condition} GROUP BY day ORDER BY day`;

interface DayOfMachines {
  readonly day: string;
  readonly requests: number;
  readonly crawled: number;
  readonly answered: number;
}

export async function readMachineDays(
  pool: pg.Pool,
  asked: { siteId: string } & Days & Partial<Requests>,
): Promise<DayOfMachines[]> {
  const requests = { pages: [], machines: undefined, ...asked };
  const values: unknown[] = [asked.siteId, asked.first, asked.last];
  const query = { text: writeDaysSql(conditionOf(requests, values)), values };
  return (await pool.query<DayOfMachines>(nameOf("read-machine-days", requests, query))).rows;
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

/**
 * Pages with most visitors that no machine read, and pages that machines read most and nobody visits. Reads a range of
 * `daily_stat_pkey` and one of `machine_day_pkey`.
 */
const writeGapsSql = ({ condition, ofPages }: Condition) => `
  WITH read AS MATERIALIZED (
    SELECT path, ${sumOf("crawled")} AS crawled, ${sumOf("answered")} AS answered
    FROM machine_day WHERE ${condition} AND path <> '${otherValue}' GROUP BY path
  ), visited AS MATERIALIZED (
    SELECT value AS path, sum(visitors) AS visitors FROM daily_stat
    WHERE site_id = $1 AND dimension = $4 AND day BETWEEN $2 AND $3 AND value <> '${otherValue}'
    GROUP BY value HAVING sum(visitors) > 0
  )
  SELECT (
    SELECT coalesce(json_agg(row ORDER BY visitors DESC, path COLLATE "C"), '[]') FROM (
      SELECT path, visitors FROM visited WHERE path NOT IN (SELECT path FROM read) AND ${ofPages}
      ORDER BY visitors DESC, path COLLATE "C" LIMIT $5
    ) AS row
  ) AS unread, (
    SELECT coalesce(json_agg(row ORDER BY crawled + answered DESC, path COLLATE "C"), '[]') FROM (
      SELECT path, crawled, answered FROM read
      WHERE crawled + answered > 0 AND path NOT IN (SELECT path FROM visited)
      ORDER BY crawled + answered DESC, path COLLATE "C" LIMIT $5
    ) AS row
  ) AS unvisited`;

interface Gaps {
  readonly unread: { readonly path: string; readonly visitors: number }[];
  readonly unvisited: { readonly path: string; readonly crawled: number; readonly answered: number }[];
}

export async function readGaps(pool: pg.Pool, asked: Requests & { limit: number }): Promise<Gaps> {
  const { siteId, first, last, limit } = asked;
  const values: unknown[] = [siteId, first, last, dimensionOf(lists.topPages, false), limit];
  const query = { text: writeGapsSql(conditionOf(asked, values)), values };
  const { rows } = await pool.query<Record<keyof Gaps, string>>(nameOf("read-gaps", asked, query));
  return { unread: JSON.parse(rows[0]?.unread ?? "[]"), unvisited: JSON.parse(rows[0]?.unvisited ?? "[]") };
}
