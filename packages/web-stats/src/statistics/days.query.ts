import { LRUCache } from "lru-cache";
import type pg from "pg";
import { visitColumns, visitSql } from "./metrics.js";
import { type Days, eventSpan, listDays } from "./range.js";
import { noSums, type Sums, sumUp, versionSql } from "./statistics.query.js";

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

export async function readDays(pool: pg.Pool, { siteId, first, last }: { siteId: string } & Days): Promise<DayPoint[]> {
  const { rows } = await pool.query<DayPoint>({ name: "read-days", text: readDaysSql, values: [siteId, first, last] });
  const stored = new Map(rows.map((row) => [row.at, row]));
  return listDays({ first, last }).map((at) => stored.get(at) ?? { at, ...noSums(), version: "" });
}

export async function hasEvents(pool: pg.Pool, siteId: string): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>({ name: "has-events", text: hasEventsSql, values: [siteId] });
  return rows[0]?.found ?? false;
}

/**
 * What each minute of a day adds: new visitors, page views, custom events, and the visits that began in it as they ended. Reads
 * one range of `event_pkey`, twice, and one of `visit_pkey`, at one moment.
 */
const readMinutesSql = `
  WITH counted AS (
    SELECT at, type, visitor FROM event WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4::timestamptz AND at < $5
  ), part AS (
    SELECT at, 0 AS visitors, (type = 'pageview')::int AS pageviews, (type = 'event')::int AS events FROM counted
    UNION ALL
    SELECT min(at), 1, 0, 0 FROM counted WHERE type = 'pageview' AND visitor IS NOT NULL GROUP BY visitor
  ), of_events AS (
    SELECT (extract(epoch FROM date_bin('1 minute', at, $4::timestamptz) - $4::timestamptz) / 60)::int AS minute,
      sum(visitors)::float8 AS visitors, sum(pageviews)::float8 AS pageviews, sum(events)::float8 AS events
    FROM part GROUP BY 1
  ), of_visits AS (
    SELECT (first_us / 60000000)::int AS minute, count(*)::float8 AS visits,
      count(*) FILTER (WHERE ${visitSql.isBounce})::float8 AS bounces,
      sum(${visitSql.us})::float8 AS visit_us, sum(views)::float8 AS visit_views
    FROM visit WHERE site_id = $1 AND day = $6 AND ${visitSql.counts} GROUP BY 1
  )
  SELECT * FROM of_events FULL JOIN of_visits USING (minute) ORDER BY minute`;

/** Reads a UTC day's figures before each of its minutes, with the visits that began before it. */
async function readMinutes(
  pool: pg.Pool,
  { siteId, day }: { siteId: string; day: string },
): Promise<(minute: number) => Sums> {
  const values = [siteId, ...eventSpan(day), day];
  const query = { name: "read-minutes", text: readMinutesSql, values };
  const { rows } = await pool.query<Sums & { minute: number }>(query);
  const sums = noSums();
  const ends = rows.map(({ minute, ...row }) => {
    sumUp(sums, row);
    return { minute, sums: { ...sums } };
  });
  return (minute) => ends.findLast((end) => end.minute < minute)?.sums ?? noSums();
}

const minuteMs = 60_000;

/** Some 200 KB each at most. */
const maxDays = 100;

interface Kept {
  readonly version: string;
  readonly before: (minute: number) => Sums;
}

/** Reads parts of days from raw events, and keeps them while the days have the same version. */
export function createKeptDays(pool: pg.Pool) {
  const kept = new LRUCache<string, Kept>({ max: maxDays });
  return {
    /** The figures of a UTC day before a whole minute of it, and of the visits that began before it. */
    async until(siteId: string, { at: day, version }: DayPoint, until: Date): Promise<Sums> {
      const key = `${siteId} ${day}`;
      let found = kept.get(key);
      if (found?.version !== version) {
        found = { version, before: await readMinutes(pool, { siteId, day }) };
        kept.set(key, found);
      }
      return found.before((until.getTime() - Date.parse(day)) / minuteMs);
    },
  };
}
