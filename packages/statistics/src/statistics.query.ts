import { otherValue, type StatisticsList } from "@waymark/lists";
import type pg from "pg";
import type { Days } from "./range.js";

interface FiguresQuery extends Days {
  siteId: string;
  /** The day from which totals are read: the first, or an earlier one to compare with. */
  totalsFrom: string;
  lists: readonly StatisticsList[];
  /** Rows of each list at most, `(other)` and whole lists excepted. */
  limit: number;
}

/** Bytes of JSON that all lists together take at most, in equal shares: pages may have paths of 2,000 bytes. */
const maxListBytes = 1_048_576;

/** A value of a dimension with its figures over all the days, or a day (as `value`) of the dimension `total`. */
export interface FigureRow {
  dimension: string;
  value: string;
  visitors: number;
  pageviews: number;
}

/**
 * The totals per day in order, and each list with its top first. Reads a range of `daily_stat_pkey` for the totals and one per
 * list. The lateral join keeps each top in a heap; ranking all lists at once would sort every value. `(other)` is unranked,
 * beside the limit and last. A list ends before its limit at its share of bytes: 80 and the value's JSON for each row.
 */
const readFiguresSql = `
  WITH top AS (
    SELECT list.*, stat.*
    FROM unnest($4::text[], $5::boolean[], $6::boolean[]) AS list (dimension, shows_pageviews, is_whole) CROSS JOIN LATERAL (
      SELECT value, sum(visitors) AS visitors, sum(pageviews) AS pageviews
      FROM daily_stat
      WHERE site_id = $1 AND dimension = list.dimension AND day BETWEEN $2 AND $3
      GROUP BY value
      HAVING sum(visitors) <> 0 OR sum(pageviews) <> 0
      ORDER BY value = '${otherValue}' DESC, sum(visitors) DESC,
        CASE WHEN shows_pageviews THEN sum(pageviews) END DESC, value
      LIMIT CASE WHEN NOT list.is_whole THEN $7::bigint + 1 END
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
  WHERE position <= $7 AND bytes <= $8 OR is_whole OR value = '${otherValue}'
  UNION ALL
  SELECT dimension, day::text, visitors, pageviews, 0 FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $9 AND $3
  ORDER BY dimension, position, value`;

export async function readFigures(pool: pg.Pool, query: FiguresQuery): Promise<FigureRow[]> {
  const { siteId, first, last, lists, limit, totalsFrom } = query;
  const values = [
    siteId,
    first,
    last,
    lists.map(({ dimension }) => dimension),
    lists.map(({ showsPageviews }) => showsPageviews),
    lists.map(({ isWhole }) => isWhole === true),
    limit,
    Math.floor(maxListBytes / lists.length),
    totalsFrom,
  ];
  const { rows } = await pool.query<FigureRow>({ name: "read-figures", text: readFiguresSql, values });
  return rows;
}
