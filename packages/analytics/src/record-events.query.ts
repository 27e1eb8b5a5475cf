import type pg from "pg";
import type { SiteEvent } from "./site-event.js";

/**
 * Serialises the writers of one site until the transaction ends: two of them would otherwise lock the same rollup rows
 * in different orders. Writers of different sites share no row.
 */
const lockSiteSql = "SELECT pg_advisory_xact_lock(hashtextextended('waymark events ' || $1, 0))";

/**
 * Records events and adds those that are new to the rollups, all of it or nothing; an id that is recorded already changes
 * nothing. `daily_visitor` says who is new today for a dimension's value, so that figures always equal a count over the
 * events. Every insert finds its rows by primary key. Sorting them would be a third of the cost and is not needed: the
 * lock keeps the site's writers apart. GROUP BY over a UNION, not a join, stays linear whatever the planner expects.
 */
const recordEventsSql = `
  WITH recorded AS (
    INSERT INTO event (site_id, id, at, type, visitor, path, referrer, source, channel, country, name, props)
    SELECT $1::uuid, each.*
    FROM unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::text[], $11::text[], $12::json[])
      AS each (id, at, type, visitor, path, referrer, source, channel, country, name, props)
    ORDER BY id
    ON CONFLICT (site_id, id) DO NOTHING
    RETURNING (at AT TIME ZONE 'UTC')::date AS day, type, visitor, path, source, channel, country, name, props
  ), view AS (
    SELECT day, dimension, value, visitor
    FROM recorded CROSS JOIN LATERAL (VALUES
      ('total', ''), ('page', path), ('source', source), ('country', country), ('channel', channel)
    ) AS dimensions (dimension, value)
    WHERE type = 'pageview' AND value IS NOT NULL
  ), newcomer AS (
    INSERT INTO daily_visitor (site_id, day, dimension, value, visitor)
    SELECT DISTINCT $1::uuid, day, dimension, value, visitor FROM view WHERE visitor IS NOT NULL
    ON CONFLICT (site_id, day, dimension, value, visitor) DO NOTHING
    RETURNING day, dimension, value
  ), stat AS (
    INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
    SELECT $1::uuid, dimension, day, value, sum(visitors), sum(pageviews)
    FROM (
      SELECT dimension, day, value, 0 AS visitors, 1 AS pageviews FROM view
      UNION ALL SELECT dimension, day, value, 1, 0 FROM newcomer
    ) AS added
    GROUP BY dimension, day, value
    ON CONFLICT (site_id, dimension, day, value) DO UPDATE
    SET visitors = daily_stat.visitors + EXCLUDED.visitors, pageviews = daily_stat.pageviews + EXCLUDED.pageviews
  ), occurrence AS (
    INSERT INTO daily_event (site_id, day, name, property, value, count)
    SELECT $1::uuid, day, name, property, value, count(*)
    FROM (
      SELECT day, name, '' AS property, '' AS value FROM recorded WHERE type = 'event'
      UNION ALL
      SELECT day, name, key, property.value FROM recorded CROSS JOIN LATERAL json_each_text(props) AS property (key, value)
      WHERE type = 'event' AND props IS NOT NULL
    ) AS added
    GROUP BY day, name, property, value
    ON CONFLICT (site_id, day, name, property, value) DO UPDATE SET count = daily_event.count + EXCLUDED.count
  )
  SELECT count(*)::int AS recorded FROM recorded`;

/**
 * The one way in which events are written. Visitors are counted by page views alone: a custom event makes none.
 * @param client a connection in a transaction that the caller has begun and will commit
 * @returns how many of the events were new
 */
export async function recordEvents(
  client: pg.ClientBase,
  siteId: string,
  events: readonly SiteEvent[],
): Promise<number> {
  if (events.length === 0) return 0;
  await client.query({ name: "lock-site", text: lockSiteSql, values: [siteId] });
  const { rows } = await client.query<{ recorded: number }>({
    name: "record-events",
    text: recordEventsSql,
    values: [siteId, ...columnsOf(events)],
  });
  return rows[0]?.recorded ?? 0;
}

/** The events' fields as one array per column, in the statement's order. */
function columnsOf(events: readonly SiteEvent[]): unknown[][] {
  return [
    events.map(({ id }) => id),
    events.map(({ at }) => at),
    events.map(({ type }) => type),
    events.map(({ visitor }) => visitor),
    events.map(({ path }) => path),
    events.map(({ referrer }) => referrer),
    events.map(({ source }) => source),
    events.map(({ channel }) => channel),
    events.map(({ country }) => country),
    events.map(({ name }) => name),
    events.map(({ props }) => props && JSON.stringify(props)),
  ];
}
