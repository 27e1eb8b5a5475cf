import type pg from "pg";
import type { SiteDay } from "./record-events.query.js";
import { otherValue } from "./site-event.js";

/**
 * The page views of a day, a row per view and list. A value that the day has no row for counts as `(other)` where the day's list
 * has one: what was folded stays folded. One range of `event_pkey`; ids follow the time of their events closely, not exactly.
 */
const createViewsSql = `
  CREATE TEMP TABLE day_view ON COMMIT DROP AS
  WITH view AS (
    SELECT * FROM event
    WHERE site_id = $1 AND id >= uuid_floor($2::date::timestamp AT TIME ZONE 'UTC' - interval '1 hour')
      AND id < uuid_floor($2::date::timestamp AT TIME ZONE 'UTC' + interval '25 hours')
      AND (at AT TIME ZONE 'UTC')::date = $2 AND type = 'pageview'
  ), counted AS (
    SELECT view.id, view.at, view.visitor, dimension, each.value
    FROM view CROSS JOIN LATERAL (VALUES
      ('total', ''), ('page', path), ('source', source), ('channel', channel), ('country', country), ('browser', browser),
      ('os', os), ('device', device), ('utm_source', utm_source), ('utm_medium', utm_medium), ('utm_campaign', utm_campaign)
    ) AS each (dimension, value)
    WHERE each.value IS NOT NULL
    UNION ALL
    SELECT id, at, visitor, 'entry', path
    FROM (SELECT DISTINCT ON (visitor) id, at, visitor, path FROM view WHERE visitor IS NOT NULL ORDER BY visitor, at, id) AS entry
  ), listed AS (
    SELECT dimension, value, bool_or(value = '${otherValue}') OVER (PARTITION BY dimension) AS is_full
    FROM daily_stat WHERE site_id = $1 AND day = $2
  )
  SELECT id, at, visitor, dimension,
    CASE WHEN NOT EXISTS (SELECT FROM listed WHERE listed.dimension = counted.dimension AND is_full) THEN value
         WHEN EXISTS (SELECT FROM listed WHERE listed.dimension = counted.dimension AND listed.value = counted.value) THEN value
         ELSE '${otherValue}' END AS value
  FROM counted`;

/** What `daily_stat` should say of the day. */
const createStatsSql = `
  CREATE TEMP TABLE expected_stat ON COMMIT DROP AS
  SELECT dimension, value, count(DISTINCT visitor)::int AS visitors,
    CASE WHEN dimension = 'entry' THEN 0 ELSE count(*)::int END AS pageviews
  FROM day_view GROUP BY dimension, value`;

/** What `daily_event` should say of the day, folded as it is. One range of `event_pkey`. */
const createEventsSql = `
  CREATE TEMP TABLE expected_event ON COMMIT DROP AS
  WITH occurrence AS (
    SELECT name, props FROM event
    WHERE site_id = $1 AND id >= uuid_floor($2::date::timestamp AT TIME ZONE 'UTC' - interval '1 hour')
      AND id < uuid_floor($2::date::timestamp AT TIME ZONE 'UTC' + interval '25 hours')
      AND (at AT TIME ZONE 'UTC')::date = $2 AND type = 'event'
  ), listed AS (
    SELECT name, property, value FROM daily_event WHERE site_id = $1 AND day = $2
  ), counted AS (
    SELECT name, '' AS property, '' AS value FROM occurrence
    UNION ALL
    SELECT name, key, each.value FROM occurrence CROSS JOIN LATERAL json_each_text(props) AS each (key, value)
    WHERE props IS NOT NULL
  ), folded AS (
    SELECT CASE
      WHEN NOT EXISTS (SELECT FROM listed WHERE '${otherValue}' IN (name, property, value)) THEN ARRAY[name, property, value]
      WHEN EXISTS (SELECT FROM listed WHERE (listed.name, listed.property, listed.value) = (counted.name, counted.property, counted.value))
        THEN ARRAY[name, property, value]
      WHEN property = '' THEN ARRAY['${otherValue}', '', '']
      WHEN EXISTS (SELECT FROM listed WHERE (listed.name, listed.property) = (counted.name, counted.property))
        THEN ARRAY[name, property, '${otherValue}']
      WHEN EXISTS (SELECT FROM listed WHERE listed.name = counted.name) THEN ARRAY[name, '${otherValue}', '${otherValue}']
      END AS key
    FROM counted
  )
  SELECT key[1] AS name, key[2] AS property, key[3] AS value, count(*)::int AS count
  FROM folded WHERE key IS NOT NULL GROUP BY key`;

/** A figure of a rollup that differs from a count over the events. */
export interface Difference extends SiteDay {
  /** `page /pricing`, or of custom events `event signup plan pro`. */
  readonly what: string;
  /** What the rollup says: visitors and page views, or occurrences; null where it has no row. */
  readonly stored: readonly number[] | null;
  /** What the events say. */
  readonly counted: readonly number[] | null;
}

/** Rows that differ. A row of zeros is as good as none: a visitor's entry page may move away. */
const compareSql = `
  SELECT concat_ws(' ', dimension, value) AS what,
    CASE WHEN stored.value IS NOT NULL THEN ARRAY[stored.visitors, stored.pageviews] END AS stored,
    CASE WHEN expected.value IS NOT NULL THEN ARRAY[expected.visitors, expected.pageviews] END AS counted
  FROM (SELECT * FROM daily_stat WHERE site_id = $1 AND day = $2 AND (visitors, pageviews) <> (0, 0)) AS stored
  FULL JOIN expected_stat AS expected USING (dimension, value)
  WHERE (stored.visitors, stored.pageviews) IS DISTINCT FROM (expected.visitors, expected.pageviews)
  UNION ALL
  SELECT concat_ws(' ', 'event', name, property, value),
    CASE WHEN stored.count IS NOT NULL THEN ARRAY[stored.count] END,
    CASE WHEN expected.count IS NOT NULL THEN ARRAY[expected.count] END
  FROM (SELECT * FROM daily_event WHERE site_id = $1 AND day = $2) AS stored
  FULL JOIN expected_event AS expected USING (name, property, value)
  WHERE stored.count IS DISTINCT FROM expected.count
  ORDER BY what`;

/** Puts the counted figures in place of the stored ones, each table by ranges of its primary key. */
const replaceSql = [
  "DELETE FROM daily_stat WHERE site_id = $1 AND day = $2",
  `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
   SELECT $1, dimension, $2, value, visitors, pageviews FROM expected_stat`,
  "DELETE FROM daily_event WHERE site_id = $1 AND day = $2",
  `INSERT INTO daily_event (site_id, day, name, property, value, count)
   SELECT $1, $2, name, property, value, count FROM expected_event`,
  "DELETE FROM daily_visitor WHERE site_id = $1 AND day = $2",
  `INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
   SELECT $1, $2, visitor,
     COALESCE(array_agg(DISTINCT seen_hash(dimension, value)) FILTER (WHERE dimension NOT IN ('total', 'entry')), '{}'),
     min(at) FILTER (WHERE dimension = 'entry'),
     (array_agg(id) FILTER (WHERE dimension = 'entry'))[1],
     (array_agg(value) FILTER (WHERE dimension = 'entry'))[1]
   FROM day_view WHERE visitor IS NOT NULL GROUP BY visitor`,
  "DELETE FROM daily_size WHERE site_id = $1 AND day = $2",
  `INSERT INTO daily_size (site_id, day, dimension, "values")
   SELECT $1::uuid, $2::date, dimension, count(*) FROM expected_stat GROUP BY dimension
   UNION ALL SELECT $1, $2, 'event', count(*) FROM expected_event HAVING count(*) > 0`,
];

/**
 * Compares a day's rollups with a count over its events, and puts the count in their place if asked to. The caller has begun a
 * transaction and locked the site.
 * @returns the figures that differ
 */
export async function rebuildDay(
  client: pg.ClientBase,
  { siteId, day }: SiteDay,
  { replace }: { replace: boolean },
): Promise<Difference[]> {
  await client.query(createViewsSql.replaceAll("$1", quote(siteId)).replaceAll("$2", quote(day)));
  await client.query(createStatsSql);
  await client.query(createEventsSql.replaceAll("$1", quote(siteId)).replaceAll("$2", quote(day)));
  const values = [siteId, day];
  const { rows } = await client.query<Omit<Difference, keyof SiteDay>>(compareSql, values);
  if (replace && rows.length > 0) for (const sql of replaceSql) await client.query(sql, values);
  return rows.map((row) => ({ siteId, day, ...row }));
}

/** A statement that makes a table takes no parameters; ids and days were checked by the database before. */
function quote(text: string): string {
  if (!/^[0-9a-f-]+$/.test(text)) throw new Error(`not an id or a day: ${text}`);
  return `'${text}'`;
}

/** Days that have events, by all of the site's range of `event_pkey`, and days that have rollups. */
const listDaysSql = `
  WITH recorded AS (
    SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM event WHERE site_id = $1
  ), rolled AS (
    SELECT day FROM daily_stat WHERE site_id = $1 AND dimension = 'total' UNION SELECT day FROM daily_event WHERE site_id = $1
  )
  SELECT day::text, recorded.day IS NOT NULL AS "hasEvents"
  FROM recorded FULL JOIN rolled USING (day)
  WHERE ($2::date IS NULL OR day >= $2) AND ($3::date IS NULL OR day <= $3)
  ORDER BY day`;

/** A site's days, oldest first; those whose events are past their retention have rollups alone. */
export async function listDays(
  pool: pg.Pool,
  { siteId, from, to }: { siteId: string; from: string | null; to: string | null },
): Promise<{ day: string; hasEvents: boolean }[]> {
  const { rows } = await pool.query<{ day: string; hasEvents: boolean }>(listDaysSql, [siteId, from, to]);
  return rows;
}
