import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import { eventRowBytes, maxEventBytesPerDay, maxValuesPerDay } from "../recording/overflow.js";
import { mendCount, type SiteDay } from "../recording/record-events.query.js";
import { statFigures } from "../recording/roll-up.js";
import { visitColumns } from "../recording/visits.query.js";
import { countStatsSql, createViewsSql, knownDimensions } from "./count-stats.query.js";

const columns = visitColumns.filter((name) => name !== "viewed");
const names = columns.join(", ");
const of = (table: string) => columns.map((column) => `${table}.${column}`).join(", ");

/** Visits whose row differs from their events, by a range of `visit_pkey`. */
const createMendVisitsSql = `
  CREATE TEMP TABLE mend_visit AS
  SELECT COALESCE(stored.visitor, expected.visitor) AS visitor, stored.first_us AS stored_first_us, expected.first_us,
    ${of("expected")}, expected.viewed
  FROM (
    SELECT *, ARRAY(SELECT unnest(viewed) ORDER BY 1) AS ordered FROM visit WHERE site_id = $1 AND day = $2
  ) AS stored
  FULL JOIN (SELECT *, ARRAY(SELECT unnest(viewed) ORDER BY 1) AS ordered FROM day_visit) AS expected
    ON stored.visitor = expected.visitor AND stored.first_us = expected.first_us
  WHERE (stored.ordered, ${of("stored")}) IS DISTINCT FROM (expected.ordered, ${of("expected")})`;

/** Replace different rows, by `visit_pkey`. */
const mendVisitsSql = [
  `DELETE FROM visit USING mend_visit AS mended
   WHERE (visit.site_id, visit.day, visit.visitor, visit.first_us) = ($1, $2, mended.visitor, mended.stored_first_us)`,
  `INSERT INTO visit (site_id, day, visitor, first_us, ${names}, viewed)
   SELECT $1, $2, visitor, first_us, ${names}, viewed FROM mend_visit WHERE first_us IS NOT NULL`,
];

/** Ids start with milliseconds since 1970. */
const idRange = `
    AND id >= uuid_floor(GREATEST($2::date::timestamp AT TIME ZONE 'UTC' - interval '1 hour', 'epoch'))
    AND id < uuid_floor($2::date::timestamp AT TIME ZONE 'UTC' + interval '25 hours')`;

/**
 * The events of a day, by a range of `event_pkey`, since ids follow their events' time closely. Ids made by a wrong clock need
 * the range of the whole site.
 */
const createDaySql = (isWholeSite: boolean) => `
  CREATE TEMP TABLE day_event ON COMMIT DROP AS
  SELECT * FROM event
  WHERE site_id = $1 AND (at AT TIME ZONE 'UTC')::date = $2 ${isWholeSite ? "" : idRange}`;

/**
 * The rows that `daily_event` should have for the day. Where the day has `(other)`, events without a stored row stay `(other)`.
 * Reads the day's events, and `daily_event` by a range of its primary key.
 */
const createEventsSql = `
  CREATE TEMP TABLE expected_event ON COMMIT DROP AS
  WITH occurrence AS (
    SELECT name, props FROM day_event WHERE type = 'event'
  ), listed AS (
    SELECT name, property, value FROM daily_event WHERE site_id = $1 AND day = $2
  ), counted AS (
    SELECT name, '' AS property, '' AS value FROM occurrence
    UNION ALL
    SELECT name, key, rolled_value(each.value) FROM occurrence CROSS JOIN LATERAL json_each_text(props) AS each (key, value)
    WHERE props IS NOT NULL
  ), kept AS (
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
  FROM kept WHERE key IS NOT NULL GROUP BY key`;

/** A figure of the rollups that differs from a recount. */
export interface Difference extends SiteDay {
  /** `page /pricing`, of its visits `visits page /pricing`, of custom events `event signup plan pro`, or `rows of visits`. */
  readonly what: string;
  /** Visitors and page views, figures of visits, occurrences, or different rows; null without a row. */
  readonly stored: readonly number[] | null;
  readonly counted: readonly number[] | null;
}

const figureNames = statFigures.join(", ");
const storedFigures = statFigures.map((figure) => `COALESCE(stored.${figure}, 0) AS stored_${figure}`).join(", ");
const countedFigures = statFigures.map((figure) => `COALESCE(expected.${figure}, 0) AS ${figure}`).join(", ");
const visitFigures = (prefix: string) =>
  statFigures
    .slice(2)
    .map((figure) => prefix + figure)
    .join(", ");
const isZero = (table: string) => statFigures.map((figure) => `${table}${figure} = 0`).join(" AND ");

/**
 * Different rows of `daily_stat` in known dimensions, by ranges of its primary key. A row of zeros equals none: an entry page
 * may have moved away.
 */
const createMendStatsSql = `
  CREATE TEMP TABLE mend_stat AS
  SELECT dimension, value, stored.value IS NOT NULL AS is_stored, expected.value IS NOT NULL AS is_counted,
    ${storedFigures}, ${countedFigures}
  FROM (
    SELECT * FROM daily_stat
    WHERE site_id = $1 AND day = $2 AND NOT (${isZero("")}) AND dimension IN (${knownDimensions})
  ) AS stored
  FULL JOIN expected_stat AS expected USING (dimension, value)
  WHERE (${statFigures.map((figure) => `stored.${figure}`)}) IS DISTINCT FROM (${statFigures.map((figure) => `expected.${figure}`)})`;

/** Different rows of `daily_event`, by a range of its primary key. */
const createMendEventsSql = `
  CREATE TEMP TABLE mend_event AS
  SELECT name, property, value, stored.count IS NOT NULL AS is_stored, expected.count IS NOT NULL AS is_counted,
    COALESCE(stored.count, 0) AS stored_count, COALESCE(expected.count, 0) AS count
  FROM (SELECT * FROM daily_event WHERE site_id = $1 AND day = $2) AS stored
  FULL JOIN expected_event AS expected USING (name, property, value)
  WHERE stored.count IS DISTINCT FROM expected.count`;

/** The rows that `daily_visitor` should have for the day, of the views in `day_view`. */
const countedVisitors = `
    SELECT visitor,
      array_agg(DISTINCT seen_hash(dimension, value)) FILTER (WHERE dimension NOT IN ('total', 'entry')) AS seen,
      min(at) FILTER (WHERE dimension = 'entry') AS entry_at,
      (array_agg(id) FILTER (WHERE dimension = 'entry'))[1] AS entry_id,
      (array_agg(value) FILTER (WHERE dimension = 'entry'))[1] AS entry_path
    FROM day_view WHERE visitor IS NOT NULL GROUP BY visitor`;

/**
 * Visitors whose row differs from their events, by a range of `daily_visitor_pkey`. A row keeps what the visitor has seen in
 * unknown dimensions: the hashes of their values, by ranges of `daily_stat_pkey` read once for all visitors.
 */
const createMendVisitorsSql = `
  CREATE TEMP TABLE mend_visitor AS
  WITH unknown AS MATERIALIZED (
    SELECT seen_hash(dimension, value) AS hash FROM daily_stat
    WHERE site_id = $1 AND day = $2 AND dimension NOT IN (${knownDimensions})
  ), stored AS (
    SELECT visitor, ARRAY(SELECT DISTINCT unnest(seen) ORDER BY 1) AS seen, entry_at, entry_id, entry_path,
      ARRAY(SELECT unnest(seen) INTERSECT SELECT hash FROM unknown) AS unknown_seen
    FROM daily_visitor WHERE site_id = $1 AND day = $2
  ), counted AS (${countedVisitors}
  ), expected AS (
    SELECT visitor, ARRAY(SELECT DISTINCT unnest(counted.seen || unknown_seen) ORDER BY 1) AS seen,
      counted.entry_at, counted.entry_id, counted.entry_path
    FROM counted LEFT JOIN stored USING (visitor)
  )
  SELECT visitor, expected.seen, expected.entry_at, expected.entry_id, expected.entry_path
  FROM stored FULL JOIN expected USING (visitor)
  WHERE (stored.seen, stored.entry_at, stored.entry_id, stored.entry_path)
    IS DISTINCT FROM (expected.seen, expected.entry_at, expected.entry_id, expected.entry_path)`;

const difference = (what: string, stored: string, counted: string) => `
  SELECT ${what} AS what, CASE WHEN is_stored THEN ARRAY[${stored}]::float[] END AS stored,
    CASE WHEN is_counted THEN ARRAY[${counted}]::float[] END AS counted`;

const listDifferencesSql = `
  ${difference("concat_ws(' ', dimension, value)", "stored_visitors, stored_pageviews", "visitors, pageviews")}
  FROM mend_stat WHERE (stored_visitors, stored_pageviews) <> (visitors, pageviews)
  UNION ALL
  ${difference("concat_ws(' ', 'visits', dimension, value)", visitFigures("stored_"), visitFigures(""))}
  FROM mend_stat WHERE (${visitFigures("stored_")}) <> (${visitFigures("")})
  UNION ALL
  ${difference("concat_ws(' ', 'event', name, property, value)", "stored_count", "count")}
  FROM mend_event
  UNION ALL
  SELECT 'rows of visits', ARRAY[count(stored_first_us)]::float[], ARRAY[count(first_us)]::float[]
  FROM mend_visit HAVING count(*) > 0
  ORDER BY what`;

/** The day's number of events, by `daily_stat_pkey`. It only grows. */
const readTotalSql = `
  SELECT COALESCE(sum(pageviews + events + engagements), 0)::int AS total FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND day = $2 AND value = ''`;

/** A day's count over a snapshot. Temporary tables hold the changes. */
export interface DayCount {
  readonly events: number;
  readonly differences: Difference[];
  /** Events in the rollup, in the snapshot. */
  readonly total: number;
}

/**
 * Counts a day over its events and keeps the differences in temporary tables of the session. The caller has begun a transaction
 * with one snapshot. `isWholeSite` looks for the day's events in all events of the site.
 */
export async function countDay(
  client: pg.ClientBase,
  { siteId, day }: SiteDay,
  { isWholeSite, replace }: { isWholeSite: boolean; replace: boolean },
): Promise<DayCount> {
  const run = (sql: string) => client.query(withDay(sql, { siteId, day }));
  await client.query(
    "DROP TABLE IF EXISTS pg_temp.day_event, pg_temp.day_view, pg_temp.day_visit, pg_temp.expected_stat, pg_temp.expected_event",
  );
  await dropMends(client);
  const { rowCount } = await run(createDaySql(isWholeSite));
  for (const sql of [...countStatsSql, createEventsSql]) await run(sql);
  await run(createMendStatsSql);
  await run(createMendEventsSql);
  await run(createMendVisitsSql);
  const { rows } = await client.query<Omit<Difference, keyof SiteDay>>(listDifferencesSql);
  if (replace && rows.length > 0) await run(createMendVisitorsSql);
  const read = await client.query<{ total: number }>(readTotalSql, [siteId, day]);
  const differences = rows.map((row) => ({ siteId, day, ...row }));
  return { events: rowCount ?? 0, differences, total: read.rows[0]?.total ?? 0 };
}

export async function dropMends(client: pg.ClientBase): Promise<void> {
  await client.query(
    "DROP TABLE IF EXISTS pg_temp.mend_stat, pg_temp.mend_event, pg_temp.mend_visitor, pg_temp.mend_visit",
  );
}

/**
 * Whether an event recorded since the count forbids adding its differences. New events and differences add to rows in any order.
 * But a new event counts by the rows of its visitor and visits, so a mended row forbids it, and a list with a new row must not
 * have become full. By primary keys.
 */
const isOutdatedSql = `
  SELECT ((EXISTS (SELECT FROM mend_visitor) OR EXISTS (SELECT FROM mend_visit)) AND $3 <> (${readTotalSql}))
    OR EXISTS (SELECT FROM mend_stat AS mended WHERE NOT is_stored AND EXISTS (
      SELECT FROM daily_stat WHERE (site_id, dimension, day, value) = ($1, mended.dimension, $2, '${otherValue}')))
    OR EXISTS (SELECT FROM mend_event WHERE NOT is_stored) AND EXISTS (
      SELECT FROM daily_event WHERE site_id = $1 AND day = $2 AND '${otherValue}' IN (name, property, value)) AS is_outdated`;

/** Call it with the site locked. */
export async function isOutdated(client: pg.ClientBase, { siteId, day }: SiteDay, count: DayCount): Promise<boolean> {
  const { rows } = await client.query<{ is_outdated: boolean }>(isOutdatedSql, [siteId, day, count.total]);
  return rows[0]?.is_outdated === true;
}

/** Adds the differences by primary keys, removes empty rows, and counts the lists by ranges of the same keys. */
const mendSql = [
  `INSERT INTO daily_stat (site_id, dimension, day, value, ${figureNames})
   SELECT $1, dimension, $2, value, ${statFigures.map((figure) => `${figure} - stored_${figure}`).join(", ")} FROM mend_stat
   ON CONFLICT (site_id, dimension, day, value) DO UPDATE
   SET ${statFigures.map((figure) => `${figure} = daily_stat.${figure} + EXCLUDED.${figure}`).join(", ")}`,
  `DELETE FROM daily_stat USING mend_stat AS mended
   WHERE (daily_stat.site_id, daily_stat.dimension, daily_stat.day, daily_stat.value) = ($1, mended.dimension, $2, mended.value)
     AND ${isZero("daily_stat.")}`,
  `INSERT INTO daily_event (site_id, day, name, property, value, count)
   SELECT $1, $2, name, property, value, count - stored_count FROM mend_event
   ON CONFLICT (site_id, day, name, property, value) DO UPDATE SET count = daily_event.count + EXCLUDED.count`,
  `DELETE FROM daily_event USING mend_event AS mended
   WHERE (daily_event.site_id, daily_event.day, daily_event.name, daily_event.property, daily_event.value)
     = ($1, $2, mended.name, mended.property, mended.value) AND daily_event.count = 0`,
  `DELETE FROM daily_visitor USING mend_visitor AS mended
   WHERE (daily_visitor.site_id, daily_visitor.day, daily_visitor.visitor) = ($1, $2, mended.visitor)`,
  `INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
   SELECT $1, $2, visitor, seen, entry_at, entry_id, entry_path FROM mend_visitor WHERE entry_id IS NOT NULL`,
  ...mendVisitsSql,
  // Writers then know that rows which they remember may have changed.
  `INSERT INTO daily_size (site_id, day, dimension, "values") VALUES ($1, $2, '${mendCount}', 1)
   ON CONFLICT (site_id, day, dimension) DO UPDATE SET "values" = daily_size."values" + 1`,
  `DELETE FROM daily_size WHERE site_id = $1 AND day = $2 AND dimension IN (${knownDimensions}, 'event', 'event_bytes')`,
  // A list with `(other)` stays full, so no value in `(other)` gets its own row later.
  `INSERT INTO daily_size (site_id, day, dimension, "values")
   SELECT $1::uuid, $2::date, dimension, GREATEST(count(*), max(${maxValuesPerDay}) FILTER (WHERE value = '${otherValue}'))
   FROM daily_stat WHERE site_id = $1 AND day = $2 AND dimension IN (${knownDimensions}) GROUP BY dimension
   UNION ALL
   SELECT $1, $2, 'event', count(*) FROM daily_event WHERE site_id = $1 AND day = $2 HAVING count(*) > 0
   UNION ALL
   SELECT $1, $2, 'event_bytes', GREATEST(
     sum(octet_length(name) + octet_length(property) + octet_length(value) + ${eventRowBytes}),
     max(${maxEventBytesPerDay}) FILTER (WHERE '${otherValue}' IN (name, property, value)))
   FROM daily_event WHERE site_id = $1 AND day = $2 HAVING count(*) > 0`,
];

/** Adds a count's differences. The caller has begun a transaction, locked the site and checked `isOutdated`. */
export async function mendDay(client: pg.ClientBase, { siteId, day }: SiteDay): Promise<void> {
  for (const sql of mendSql) await client.query(sql, [siteId, day]);
}

/**
 * Gives all statements of the transaction one snapshot, and keeps partitions until it ends. A lock takes no snapshot, so the
 * snapshot sees the horizon of every partition dropped before.
 */
export async function beginSnapshot(client: pg.ClientBase): Promise<void> {
  await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await client.query("LOCK TABLE event IN ACCESS SHARE MODE");
}

/** A statement that creates a table takes no parameters. Ids and days come checked from the database. */
function withDay(sql: string, { siteId, day }: SiteDay): string {
  return sql.replaceAll("$1", quote(siteId)).replaceAll("$2", quote(day));
}

function quote(text: string): string {
  if (!/^[0-9a-f-]+$/.test(text)) throw new Error(`not an id or a day: ${text}`);
  return `'${text}'`;
}

/** Days with events, by the site's range of `event_pkey`, and days with rollups, by ranges of their primary keys. */
const listDaysSql = `
  WITH recorded AS (
    SELECT (at AT TIME ZONE 'UTC')::date AS day, count(*) AS events FROM event WHERE site_id = $1 GROUP BY 1
  ), rolled AS (
    SELECT day FROM daily_stat WHERE site_id = $1 AND dimension = 'total' UNION SELECT day FROM daily_event WHERE site_id = $1
  )
  SELECT day::text, CASE WHEN source IS NULL THEN COALESCE(events, 0) ELSE 0 END::int AS events
  FROM recorded FULL JOIN rolled USING (day)
  LEFT JOIN (SELECT day, source FROM imported_day WHERE site_id = $1) AS imported USING (day)
  WHERE ($2::date IS NULL OR day >= $2) AND ($3::date IS NULL OR day <= $3)
  ORDER BY day`;

/** A site's days with their numbers of events, oldest first; 0 where only rollups are left, or where they are of another tool. */
export async function listDays(
  client: pg.ClientBase,
  { siteId, from, to }: { siteId: string; from: string | null; to: string | null },
): Promise<{ day: string; events: number }[]> {
  const { rows } = await client.query<{ day: string; events: number }>(listDaysSql, [siteId, from, to]);
  return rows;
}

/** Two rebuilds of a site would add the same differences twice. An advisory lock of the session, on no table. */
const lockRebuildSql = "SELECT pg_try_advisory_lock(hashtextextended('waymark rebuild ' || $1, 0)) AS is_locked";
const unlockRebuildSql = "SELECT pg_advisory_unlock(hashtextextended('waymark rebuild ' || $1, 0))";

/** @returns false if another session rebuilds the site */
export async function lockRebuild(client: pg.ClientBase, siteId: string): Promise<boolean> {
  const { rows } = await client.query<{ is_locked: boolean }>(lockRebuildSql, [siteId]);
  return rows[0]?.is_locked === true;
}

export async function unlockRebuild(client: pg.ClientBase, siteId: string): Promise<void> {
  await client.query(unlockRebuildSql, [siteId]);
}

/** Days with counted visitors and without any of their rows, by probes of both primary keys. */
const listDroppedSql = `
  SELECT day::text FROM unnest($2::date[]) AS each (day)
  WHERE EXISTS (
    SELECT FROM daily_stat WHERE (site_id, dimension, day, value) = ($1, 'total', each.day, '') AND visitors > 0
  ) AND NOT EXISTS (SELECT FROM daily_visitor AS known WHERE known.site_id = $1 AND known.day = each.day)`;

const insertSql = `
  INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
  SELECT $1::uuid, $2::date, visitor, seen, entry_at, entry_id, entry_path FROM (${countedVisitors}) AS counted`;

/**
 * Makes the rows of visitors anew, from raw events, for days whose rows were dropped; then a late event counts nobody twice.
 * Retention drops or empties whole partitions, so a day has all its rows or none, and they stay while this transaction lasts,
 * which has the site's lock and may make temporary tables.
 */
export async function refillVisitors(client: pg.ClientBase, siteId: string, days: Iterable<string>): Promise<void> {
  const { rows } = await client.query<{ day: string }>(listDroppedSql, [siteId, [...new Set(days)]]);
  for (const { day } of rows) await refillDay(client, { siteId, day });
}

async function refillDay(client: pg.ClientBase, siteDay: SiteDay): Promise<void> {
  const values = [siteDay.siteId, siteDay.day];
  const create = async (sql: string, table: string) => {
    await client.query(`DROP TABLE IF EXISTS pg_temp.${table}`);
    return client.query(withDay(sql, siteDay));
  };
  const { rows } = await client.query<{ total: number }>(readTotalSql, values);
  const { rowCount } = await create(createDaySql(false), "day_event");
  if ((rowCount ?? 0) < (rows[0]?.total ?? 0)) await create(createDaySql(true), "day_event");
  await create(createViewsSql, "day_view");
  await client.query(insertSql, values);
}
