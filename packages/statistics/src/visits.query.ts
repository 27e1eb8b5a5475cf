import type pg from "pg";
import type { SiteDay } from "./columns/day-rows.query.js";
import { type VisitSums, visitColumns } from "./metrics.js";

/** Custom events are counted one by one elsewhere. */
export type BegunVisits = Omit<VisitSums, "events">;

const columns = visitColumns.filter((name) => name !== "events");

/** The figures of visits by the hour that they began in. Reads a range of `daily_stat_pkey`. */
const readHoursSql = `
  SELECT value::int AS part, ${columns.map((name) => `${name}::float8 AS ${name}`).join(", ")} FROM daily_stat
  WHERE site_id = $1 AND dimension = 'hour' AND day = $2`;

/** The same by minute, of visits as they ended. Reads a range of `visit_pkey`. */
const readMinutesSql = `
  SELECT first_us / 60000000 AS part, count(*)::float8 AS visits,
    count(*) FILTER (WHERE views = 1 AND events = passive_events)::float8 AS bounces,
    sum(coalesce(end_us, last_us) - first_us)::float8 AS visit_us, sum(views)::float8 AS visit_views
  FROM visit WHERE site_id = $1 AND day = $2
  GROUP BY part ORDER BY part`;

type PartRow = BegunVisits & { part: number };

/** Reads the figures of the visits that began in each hour of a UTC day; hours without a visit are missing. */
export async function readVisitHours(pool: pg.Pool, { siteId, day }: SiteDay): Promise<Map<number, BegunVisits>> {
  const query = { name: "read-visit-hours", text: readHoursSql, values: [siteId, day] };
  const { rows } = await pool.query<PartRow>(query);
  return new Map(rows.map(({ part, ...visits }) => [part, visits]));
}

/** Reads the figures of the visits that began before each minute of a UTC day. */
export async function readVisitMinutes(
  pool: pg.Pool,
  { siteId, day }: SiteDay,
): Promise<(minute: number) => BegunVisits> {
  const query = { name: "read-visit-minutes", text: readMinutesSql, values: [siteId, day] };
  const { rows } = await pool.query<PartRow>(query);
  const sums: BegunVisits = { visits: 0, bounces: 0, visit_us: 0, visit_views: 0 };
  for (const row of rows) {
    for (const name of columns) {
      sums[name] += row[name];
      row[name] = sums[name];
    }
  }
  return (minute) => {
    const last = rows.findLast(({ part }) => part < minute);
    if (!last) return { visits: 0, bounces: 0, visit_us: 0, visit_views: 0 };
    const { part: _part, ...visits } = last;
    return visits;
  };
}
