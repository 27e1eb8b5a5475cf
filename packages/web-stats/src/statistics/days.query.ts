import type pg from "pg";
import { visitColumns } from "./metrics.js";
import { type Days, listDays } from "./range.js";
import { noSums, type Sums, versionSql } from "./statistics.query.js";

/** Visitors, page views and custom events of a time. */
export interface Counts {
  visitors: number;
  pageviews: number;
  events: number;
}

/** The sums of a day (`2026-03-15`) or an hour (`2026-03-15T04`), in UTC. */
export interface PointSums extends Sums {
  at: string;
}

/** A day with its version, which each of its events changes; empty for a day without figures. */
export interface DayPoint extends PointSums {
  version: string;
}

const visitNames = visitColumns.filter((name) => name !== "events");

/**
 * The figures of each day that has any, from the rollups. Reads a range of `daily_stat_pkey`, and of `daily_event_pkey` the
 * range that the list of custom events reads too.
 */
const readDaysSql = `
  SELECT day::text AS at, sum(visitors) AS visitors, sum(pageviews) AS pageviews, sum(events) AS events,
    ${visitNames.map((name) => `sum(${name})::float8 AS ${name}`).join(", ")}, max(version) AS version
  FROM (
    SELECT day, visitors, pageviews, 0 AS events, ${visitNames.join(", ")}, ${versionSql} AS version FROM daily_stat
    WHERE site_id = $1 AND dimension = 'total' AND day BETWEEN $2 AND $3
    UNION ALL
    SELECT day, 0, 0, count, 0, 0, 0, 0, '' FROM daily_event
    WHERE site_id = $1 AND day BETWEEN $2 AND $3 AND property = ''
  ) AS stored
  GROUP BY day`;

/** Whether the site ever had an event: two probes. */
const hasEventsSql = `
  SELECT EXISTS (SELECT FROM daily_stat WHERE site_id = $1) OR EXISTS (SELECT FROM daily_event WHERE site_id = $1) AS found`;

/** Reads the figures of every day, both included; days without events have zeros. */
export async function readDays(pool: pg.Pool, { siteId, first, last }: { siteId: string } & Days): Promise<DayPoint[]> {
  const { rows } = await pool.query<DayPoint>({ name: "read-days", text: readDaysSql, values: [siteId, first, last] });
  const stored = new Map(rows.map((row) => [row.at, row]));
  return listDays({ first, last }).map((at) => stored.get(at) ?? { at, ...noSums(), version: "" });
}

export async function hasEvents(pool: pg.Pool, siteId: string): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>({ name: "has-events", text: hasEventsSql, values: [siteId] });
  return rows[0]?.found ?? false;
}
