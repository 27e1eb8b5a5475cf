import type pg from "pg";
import { type Days, listDays } from "./range.js";

/** Visitors, page views and custom events of a time. */
export interface Counts {
  visitors: number;
  pageviews: number;
  events: number;
}

/** The counts of a day (`2026-03-15`) or an hour (`2026-03-15T04`), in UTC. */
export interface Point extends Counts {
  at: string;
}

/**
 * The figures of each day that has any, from the rollups. Reads a range of `daily_stat_pkey`, and of `daily_event_pkey` the
 * range that the list of custom events reads too.
 */
const readDaysSql = `
  SELECT day::text AS at, sum(visitors) AS visitors, sum(pageviews) AS pageviews, sum(events) AS events
  FROM (
    SELECT day, visitors, pageviews, 0 AS events FROM daily_stat
    WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $2 AND $3
    UNION ALL
    SELECT day, 0, 0, count FROM daily_event
    WHERE site_id = $1 AND day BETWEEN $2 AND $3 AND property = ''
  ) AS stored
  GROUP BY day`;

/** Whether the site ever had an event: two probes. */
const hasEventsSql = `
  SELECT EXISTS (SELECT FROM daily_stat WHERE site_id = $1) OR EXISTS (SELECT FROM daily_event WHERE site_id = $1) AS found`;

/** Reads the figures of every day, both included; days without events have zeros. */
export async function readDays(pool: pg.Pool, { siteId, first, last }: { siteId: string } & Days): Promise<Point[]> {
  const { rows } = await pool.query<Point>({ name: "read-days", text: readDaysSql, values: [siteId, first, last] });
  const stored = new Map(rows.map((row) => [row.at, row]));
  return listDays({ first, last }).map((at) => stored.get(at) ?? { at, visitors: 0, pageviews: 0, events: 0 });
}

export async function hasEvents(pool: pg.Pool, siteId: string): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>({ name: "has-events", text: hasEventsSql, values: [siteId] });
  return rows[0]?.found ?? false;
}
