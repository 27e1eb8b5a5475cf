import type pg from "pg";
import { listColumns, viewLists } from "../../lists/lists.js";

/** Rollups to compare: `day dimension value` -> [visitors, pageviews], `day name property value` -> count. */
export interface Rollups {
  stats: Record<string, [number, number]>;
  events: Record<string, number>;
}

/** Dimensions that count visits or hours only. */
const ofVisits = "('visit_entry', 'exit', 'hour')";

export async function readRollups(pool: pg.Pool, siteId: string): Promise<Rollups> {
  const stats = await pool.query(
    "SELECT day::text AS day, dimension, value, visitors, pageviews FROM daily_stat " +
      `WHERE site_id = $1 AND (visitors, pageviews) <> (0, 0) AND dimension NOT IN ${ofVisits}`,
    [siteId],
  );
  const events = await pool.query(
    "SELECT day::text AS day, name, property, value, count FROM daily_event WHERE site_id = $1",
    [siteId],
  );
  return {
    stats: Object.fromEntries(
      stats.rows.map((row) => [`${row.day} ${row.dimension} ${row.value}`, [row.visitors, row.pageviews]]),
    ),
    events: Object.fromEntries(
      events.rows.map((row) => [`${row.day} ${row.name} ${row.property} ${row.value}`, row.count]),
    ),
  };
}

/** The same, counted one by one over a site's events. */
export async function recountRollups(pool: pg.Pool, siteId: string): Promise<Rollups> {
  const { rows } = await pool.query(
    `SELECT (at AT TIME ZONE 'UTC')::date::text AS day, type, visitor::text, name, props::text, ${listColumns.join(", ")}
     FROM event WHERE site_id = $1 ORDER BY at, id`,
    [siteId],
  );
  const views = new Map<string, number>();
  const visitors = new Map<string, Set<string>>();
  const events = new Map<string, number>();
  const entries = new Set<string>();
  const stats = new Map<string, [number, number]>();
  for (const row of rows) {
    if (row.type === "engagement") continue;
    if (row.type === "event") {
      const own: [string, unknown][] = Object.entries(JSON.parse(row.props ?? "{}"));
      for (const [property, value] of [["", ""], ...own]) {
        const key = `${row.day} ${row.name} ${property} ${value}`;
        events.set(key, (events.get(key) ?? 0) + 1);
      }
      continue;
    }
    const { day, visitor, path: page } = row;
    const counted = viewLists.map(({ dimension, column }) => [dimension, row[column]]);
    const entered = `${day} ${visitor}`;
    if (visitor !== null && !entries.has(entered)) {
      entries.add(entered);
      const [visits, count] = stats.get(`${day} entry ${page}`) ?? [0, 0];
      stats.set(`${day} entry ${page}`, [visits + 1, count]);
    }
    for (const [dimension, value] of [["total", ""], ...counted]) {
      if (value === null) continue;
      const key = `${row.day} ${dimension} ${value}`;
      views.set(key, (views.get(key) ?? 0) + 1);
      const seen = visitors.get(key) ?? new Set();
      if (row.visitor !== null) seen.add(row.visitor);
      visitors.set(key, seen);
    }
  }
  return {
    stats: Object.fromEntries([
      ...stats,
      ...[...views].map(([key, count]): [string, [number, number]] => [key, [visitors.get(key)?.size ?? 0, count]]),
    ]),
    events: Object.fromEntries(events),
  };
}
