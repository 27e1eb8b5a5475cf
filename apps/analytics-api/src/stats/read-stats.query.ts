import type pg from "pg";

/** What the statement asks for. */
export interface StatsQuery {
  siteId: string;
  /** The first and last UTC day, both included. */
  first: string;
  last: string;
  /** Entries of each top list at most. */
  limit: number;
}

/** A value of a dimension with its figures over the range. */
export interface StatRow {
  dimension: "total" | "page" | "source" | "country" | "channel";
  value: string;
  visitors: number;
  pageviews: number;
}

/**
 * The range's figures per dimension and value, the top of each list first. Reads one range of `daily_stat_pkey` per
 * dimension, as many rows as the days have values, however many events they had. Visitors of several days are the sum
 * of the daily ones. Lists that show no page views are not ordered by them.
 */
const readStatsSql = `
  WITH stat AS (
    SELECT dimension, value, sum(visitors) AS visitors, sum(pageviews) AS pageviews
    FROM daily_stat
    WHERE site_id = $1 AND dimension = ANY('{total,page,source,country,channel}') AND day BETWEEN $2 AND $3
    GROUP BY dimension, value
  ), ranked AS (
    SELECT *, row_number() OVER (
      PARTITION BY dimension
      ORDER BY visitors DESC, CASE WHEN dimension IN ('page', 'channel') THEN pageviews END DESC, value
    ) AS position
    FROM stat
  )
  SELECT dimension, value, visitors, pageviews FROM ranked
  WHERE position <= $4 OR dimension = 'channel'
  ORDER BY dimension, position`;

/** Reads a site's statistics from the rollups. */
export async function readStats(pool: pg.Pool, query: StatsQuery): Promise<StatRow[]> {
  const values = [query.siteId, query.first, query.last, query.limit];
  const { rows } = await pool.query<StatRow>({ name: "read-stats", text: readStatsSql, values });
  return rows;
}
