import { otherValue } from "@waymark/lists";
import type pg from "pg";
import type { Days } from "./range.js";

/** The dimensions of `daily_stat` whose values make lists. */
export type Dimension =
  | "page"
  | "source"
  | "country"
  | "channel"
  | "browser"
  | "os"
  | "device"
  | "entry"
  | "utm_source"
  | "utm_medium"
  | "utm_campaign";

/** What the statement asks for. */
export interface StatsQuery extends Days {
  siteId: string;
  /** The day from which totals are read: the first, or an earlier one to compare with. */
  totalsFrom: string;
  /** What is listed. Where a list shows page views, they decide between equal visitors. */
  lists: readonly { dimension: Dimension; showsPageviews: boolean }[];
  /** Values of each list at most, channels excepted: there are nineteen. */
  limit: number;
}

/** JSON that all lists together take at most, each an equal share of it: pages may have paths of 2,000 bytes. */
const maxListBytes = 1_048_576;

/** A value of a dimension with its figures over all the days, or a day (as `value`) of the dimension `total`. */
export interface StatRow {
  dimension: Dimension | "total";
  value: string;
  visitors: number;
  pageviews: number;
}

/**
 * The totals per day in order, and each list with its top first. Reads one range of `daily_stat_pkey` for the totals and
 * one per list, as many rows as the days have values, however many events they had. Visitors of several days are the sum
 * of the daily ones. List by list, a top is kept in a heap, where ranking all at once would sort every value. A folded tail
 * is no value of its own: `top` takes it besides the limit, and it comes last, unranked. A list ends before its limit where its
 * rows, as JSON of 80 bytes and the value, have more bytes than its share.
 */
const readStatsSql = `
  WITH top AS (
    SELECT list.*, stat.*
    FROM unnest($4::text[], $5::boolean[]) AS list (dimension, shows_pageviews) CROSS JOIN LATERAL (
      SELECT value, sum(visitors) AS visitors, sum(pageviews) AS pageviews
      FROM daily_stat
      WHERE site_id = $1 AND dimension = list.dimension AND day BETWEEN $2 AND $3
      GROUP BY value
      ORDER BY value = '${otherValue}' DESC, sum(visitors) DESC,
        CASE WHEN shows_pageviews THEN sum(pageviews) END DESC, value
      LIMIT CASE WHEN list.dimension <> 'channel' THEN $6::bigint + 1 END
    ) AS stat
  ), ranked AS (
    SELECT *, row_number() OVER rank AS position, sum(octet_length(to_json(value)::text) + 80) OVER rank AS bytes
    FROM top
    WINDOW rank AS (
      PARTITION BY dimension
      ORDER BY value = '${otherValue}', visitors DESC, CASE WHEN shows_pageviews THEN pageviews END DESC, value
      ROWS UNBOUNDED PRECEDING
    )
  )
  SELECT dimension, value, visitors, pageviews, position FROM ranked
  WHERE position <= $6 AND bytes <= $8 OR dimension = 'channel' OR value = '${otherValue}'
  UNION ALL
  SELECT dimension, day::text, visitors, pageviews, 0 FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $7 AND $3
  ORDER BY dimension, position, value`;

/** Reads a site's statistics from the rollups. */
export async function readStats(pool: pg.Pool, query: StatsQuery): Promise<StatRow[]> {
  const dimensions = query.lists.map(({ dimension }) => dimension);
  const byPageviews = query.lists.map(({ showsPageviews }) => showsPageviews);
  const listBytes = Math.floor(maxListBytes / query.lists.length);
  const days = [query.siteId, query.first, query.last];
  const values = [...days, dimensions, byPageviews, query.limit, query.totalsFrom, listBytes];
  const { rows } = await pool.query<StatRow>({ name: "read-stats", text: readStatsSql, values });
  return rows;
}
