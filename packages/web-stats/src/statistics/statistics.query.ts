import type { Queryable } from "@waymark/database";
import type pg from "pg";
import { dimensionOf, otherValue, type StatisticsList } from "../lists/lists.js";
import { formVersion } from "./columns/day-part.js";
import { type VisitSums, visitColumns } from "./metrics.js";
import type { Days } from "./range.js";

export interface FiguresQuery extends Days {
  siteId: string;
  /** The day from which totals are read: the first, or an earlier one to compare with. */
  totalsFrom: string;
  lists: readonly StatisticsList[];
  /** Rows of each list at most, `(other)` and whole lists excepted. */
  limit: number;
  withHours: boolean;
  /** Also the figures of visits, which entry pages have in a dimension of their own. */
  withVisits: boolean;
}

/** Bytes of JSON that all lists together take at most, in equal shares: pages may have paths of 2,000 bytes. */
export const maxListBytes = 1_048_576;

/** Bytes of a list's row with metrics, beside its value. */
export const rowBytes = 240;

export function rowBytesOf({ withVisits }: { withVisits: boolean }): number {
  return withVisits ? rowBytes : 80;
}

export interface Sums extends VisitSums {
  visitors: number;
  pageviews: number;
}

export function noSums(): Sums {
  return { visitors: 0, pageviews: 0, visits: 0, bounces: 0, visit_us: 0, visit_views: 0, events: 0 };
}

const sumNames = Object.keys(noSums()) as (keyof Sums)[];

/** Adds a row to sums. Without visits a row has no figures of them. */
export function sumUp(sums: Sums | undefined, row: Sums): void {
  if (sums) for (const name of sumNames) sums[name] += row[name] ?? 0;
}

/** Of all the days, of a day of the dimension `total`, or of an hour (`2026-03-15T04`) of the dimension `hour`. */
export interface FigureRow extends Sums {
  dimension: string;
  value: string;
}

/**
 * The totals per day in order, and each list with its top first. Reads a range of `daily_stat_pkey` for the totals and one per
 * list. The lateral join keeps each top in a heap; ranking all lists at once would sort every value. `(other)` is unranked,
 * beside the limit and last. A list ends before its limit at its share of bytes: 80 and the value's JSON for each row.
 */
const readFiguresSql = ({ withVisits, withHours }: { withVisits: boolean; withHours: boolean }) => `
  WITH top AS (
    SELECT list.*, stat.*
    FROM unnest($4::text[], $5::boolean[], $6::boolean[]) AS list (dimension, shows_pageviews, is_whole) CROSS JOIN LATERAL (
      SELECT value, sum(visitors) AS visitors, sum(pageviews) AS pageviews${withVisits ? visitSums : ""}
      FROM daily_stat
      WHERE site_id = $1 AND dimension = list.dimension AND day BETWEEN $2 AND $3
      GROUP BY value
      HAVING sum(visitors) <> 0 OR sum(pageviews) <> 0${withVisits ? " OR sum(visits) <> 0" : ""}
      ORDER BY value = '${otherValue}' DESC, sum(visitors) DESC,
        CASE WHEN shows_pageviews THEN sum(pageviews) END DESC, value
      LIMIT CASE WHEN NOT list.is_whole THEN $7::bigint + 1 END
    ) AS stat
  ), ranked AS (
    SELECT *, row_number() OVER rank AS position, sum(octet_length(to_json(value)::text) + ${rowBytesOf({ withVisits })}) OVER rank AS bytes
    FROM top
    WINDOW rank AS (
      PARTITION BY dimension
      ORDER BY value = '${otherValue}', visitors DESC, CASE WHEN shows_pageviews THEN pageviews END DESC, value
      ROWS UNBOUNDED PRECEDING
    )
  )
  SELECT dimension, value, visitors, pageviews${withVisits ? visitNames : ""}, position FROM ranked
  WHERE position <= $7 AND bytes <= $8 OR is_whole OR value = '${otherValue}'
  UNION ALL
  SELECT dimension, day::text, visitors, pageviews${withVisits ? visitNames : ""}, 0 FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $9 AND $3
  ${withHours ? `UNION ALL ${hoursSql(withVisits)}` : ""}
  ORDER BY dimension, position, value`;

const visitNames = `, ${visitColumns.join(", ")}`;
const visitSums = visitColumns.map((column) => `, sum(${column})::float8 AS ${column}`).join("");

const hoursSql = (withVisits: boolean) => `
  SELECT dimension, day || 'T' || value AS value, visitors, pageviews${withVisits ? visitNames : ""}, 0 FROM daily_stat
  WHERE site_id = $1 AND dimension = 'hour' AND day BETWEEN $2 AND $3`;

export async function readFigures(pool: pg.Pool, query: FiguresQuery): Promise<FigureRow[]> {
  const { siteId, first, last, lists, limit, totalsFrom, withVisits, withHours } = query;
  const values = [
    siteId,
    first,
    last,
    lists.map((list) => dimensionOf(list, withVisits)),
    lists.map(({ showsPageviews }) => showsPageviews),
    lists.map(({ isWhole }) => isWhole === true),
    limit,
    Math.floor(maxListBytes / lists.length),
    totalsFrom,
  ];
  const name = `read-figures${withVisits ? "-visits" : ""}${withHours ? "-hours" : ""}`;
  const { rows } = await pool.query<FigureRow>({ name, text: readFiguresSql({ withVisits, withHours }), values });
  return rows;
}

/** The hours of days, by a range of `daily_stat_pkey`. */
export async function readHourFigures(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<FigureRow[]> {
  const query = { name: "read-hour-figures", text: hoursSql(true), values: [siteId, first, last] };
  return (await pool.query<FigureRow>(query)).rows;
}

/**
 * Whether a stored part is of the present events: a day's total changes with each event, and `mended` when a rebuild mends it. A
 * probe of `daily_size_pkey`.
 */
export const versionSql = `'${formVersion}:' || md5(daily_stat::text) || ':' || coalesce((
  SELECT mend."values" FROM daily_size AS mend WHERE (mend.site_id, mend.day, mend.dimension) = (daily_stat.site_id, daily_stat.day, 'mended')
), 0)`;

/** The totals of days, each with a version: it changes with every event, and when a rebuild mends the day. */
const readDayTotalsSql = `
  SELECT 'total' AS dimension, day::text AS value, visitors, pageviews${visitNames}, ${versionSql} AS version
  FROM daily_stat WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $2 AND $3 ORDER BY day`;

export async function readDayTotals(
  pool: Queryable,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<(FigureRow & { version: string })[]> {
  const query = { name: "read-day-totals", text: readDayTotalsSql, values: [siteId, first, last] };
  return (await pool.query<FigureRow & { version: string }>(query)).rows;
}

/** The values of dimensions with their sums over days, by a range of `daily_stat_pkey` for each dimension. */
const readListSumsSql = `
  SELECT dimension, value, sum(visitors) AS visitors, sum(pageviews) AS pageviews${visitSums}
  FROM daily_stat WHERE site_id = $1 AND dimension = ANY($2::text[]) AND day BETWEEN $3 AND $4
  GROUP BY dimension, value LIMIT $5`;

/** @returns sums by dimension and value; undefined for more values than `maxValues` */
export async function readListSums(
  pool: pg.Pool,
  asked: { siteId: string; dimensions: readonly string[]; maxValues: number } & Days,
): Promise<Map<string, Map<string, Sums>> | undefined> {
  const values = [asked.siteId, asked.dimensions, asked.first, asked.last, asked.maxValues + 1];
  const { rows } = await pool.query<FigureRow>({ name: "read-list-sums", text: readListSumsSql, values });
  if (rows.length > asked.maxValues) return undefined;
  const sums = new Map(asked.dimensions.map((dimension) => [dimension, new Map<string, Sums>()]));
  for (const { dimension, value, ...row } of rows) sums.get(dimension)?.set(value, row);
  return sums;
}

/** What days need for an answer: visits, figures by hour, or all their events. */
type Need = "visits" | "hours" | "events";

/** The first and last day; null for none. */
export type Coverage = { from: string | null; to: string | null };

/**
 * The days of a range that have something: visits since they were counted; hours where no other tool gave a day's figures; events
 * where none has gone either. Probes `imported_day_pkey` for each day.
 */
const readCoverageSql = `
  SELECT min(series.day)::date::text AS from, max(series.day)::date::text AS to, count(*) = $3::date - $2::date + 1 AS "isAll"
  FROM event_horizon AS horizon CROSS JOIN generate_series($2::date, $3::date, '1 day') AS series (day)
  WHERE series.day >= greatest(horizon.visits_day, CASE WHEN $4 = 'events' THEN horizon.day END, '-infinity')
    AND ($4 = 'visits' OR NOT EXISTS (SELECT FROM imported_day WHERE site_id = $1 AND imported_day.day = series.day))`;

/** Reads the first and last of the asked days that have what is needed, or had no event; undefined if all are so. */
export async function readCoverage(
  pool: pg.Pool,
  { siteId, first, last, need }: { siteId: string; need: Need } & Days,
): Promise<Coverage | undefined> {
  const query = { name: "read-coverage", text: readCoverageSql, values: [siteId, first, last, need] };
  const { rows } = await pool.query<Coverage & { isAll: boolean }>(query);
  const [found] = rows;
  return found && !found.isAll ? { from: found.from, to: found.to } : undefined;
}

export function readEventDays(pool: pg.Pool, days: { siteId: string } & Days): Promise<Coverage | undefined> {
  return readCoverage(pool, { ...days, need: "events" });
}
