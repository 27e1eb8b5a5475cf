import type pg from "pg";
import { type Range, utcDaysOf } from "./utc-range.js";

/** What a site's summary holds (statistics contract, "Stats summary"). */
export interface SiteStats {
  range: Range;
  pageviews: number;
  /** The sum of each UTC day's visitors. */
  uniqueVisitors: number;
  topPages: { path: string; visitors: number; pageviews: number }[];
  /** Visits without a source are not among them. */
  topReferrers: { source: string; visitors: number }[];
  /** Visits from nobody knows where are not among them. */
  topCountries: { country: string; visitors: number }[];
  channels: Record<string, { visitors: number; pageviews: number }>;
}

interface Row {
  dimension: "total" | "page" | "source" | "country" | "channel";
  value: string;
  visitors: string;
  pageviews: string;
}

/**
 * Adds up a site's daily figures per dimension and value, the top ones of each dimension in order: by visitors, then by
 * page views where the answer shows them, then by value in byte order. One range of the primary key
 * (site, dimension, day, value) per dimension; raw events are never read, so that their number does not count.
 */
const readStatsSql = `
  SELECT wanted.dimension, top.*
  FROM (VALUES ('total', 1, true), ('page', $4::int, true), ('source', $4, false), ('country', $4, false),
    ('channel', 100, true)) AS wanted (dimension, places, shows_pageviews)
  CROSS JOIN LATERAL (
    SELECT value, sum(visitors) AS visitors, sum(pageviews) AS pageviews
    FROM daily_stat
    WHERE site_id = $1 AND daily_stat.dimension = wanted.dimension AND day BETWEEN $2::date AND $3::date
    GROUP BY value
    ORDER BY sum(visitors) DESC, CASE WHEN wanted.shows_pageviews THEN sum(pageviews) END DESC, value
    LIMIT wanted.places
  ) AS top`;

/**
 * Reads the summary of a site that the caller has found to be the account's.
 * @param limit entries of each top list, 1 to 1,000
 * @param now the day that a range ends with
 */
export async function readStats(
  pool: pg.Pool,
  siteId: string,
  range: Range,
  limit: number,
  now: Date,
): Promise<SiteStats> {
  const { from, to } = utcDaysOf(range, now);
  const { rows } = await pool.query<Row>({ name: "read-stats", text: readStatsSql, values: [siteId, from, to, limit] });
  const of = (dimension: Row["dimension"]) =>
    rows
      .filter((row) => row.dimension === dimension)
      .map(({ value, visitors, pageviews }) => ({ value, visitors: Number(visitors), pageviews: Number(pageviews) }));
  const [total] = of("total");
  return {
    range,
    pageviews: total?.pageviews ?? 0,
    uniqueVisitors: total?.visitors ?? 0,
    topPages: of("page").map(({ value, visitors, pageviews }) => ({ path: value, visitors, pageviews })),
    topReferrers: of("source").map(({ value, visitors }) => ({ source: value, visitors })),
    topCountries: of("country").map(({ value, visitors }) => ({ country: value, visitors })),
    channels: Object.fromEntries(
      of("channel").map(({ value, visitors, pageviews }) => [value, { visitors, pageviews }]),
    ),
  };
}
