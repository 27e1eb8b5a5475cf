import type pg from "pg";
import { otherValue } from "../lists/lists.js";
import type { Days } from "./range.js";

export interface CustomEvent {
  name: string;
  count: number;
  properties: Record<string, Record<string, number>>;
}

/** Occurrences of an event (property and value are empty) or of one value of a property. */
interface EventRow {
  name: string;
  property: string;
  value: string;
  count: number;
}

/** The bounds of an answer; `(other)` counts the rest. The bytes are bytes of JSON, and keep all of it under 1 MiB. */
export const eventBounds = {
  names: 1_000,
  valuesPerProperty: 1_000,
  nameBytes: 262_144,
  propertyBytes: 262_144,
  valueBytes: 520_192,
} as const;

/**
 * The range's custom events, the most frequent first. An event's total comes before its properties, which are in order of
 * their names; values are in order of frequency. Sums are exact: `(other)` counts what the bounds leave out. Each event gets
 * its first property, and each property its first value, before any gets a second. Reads one range of `daily_event_pkey` once.
 */
const readEventsSql = `
  WITH counted AS MATERIALIZED (
    -- Long values are grouped by their start and MD5: sorting hundreds of megabytes would take the statement's time.
    SELECT name, property, key, sum(count)::bigint AS count, min(row_id) AS row_id, max(bytes) AS bytes
    FROM (
      SELECT ctid AS row_id, name, property, count, octet_length(to_json(value)::text) AS bytes,
        CASE WHEN octet_length(value) <= 64 THEN value ELSE left(value, 64) || md5(value) END AS key
      FROM daily_event WHERE site_id = $1 AND day BETWEEN $2 AND $3
    ) AS stored
    GROUP BY name, property, key
  ), names AS MATERIALIZED (
    SELECT name, total, name <> '${otherValue}' AND row_number() OVER rank <= $4
      AND sum(octet_length(to_json(name)::text) + 90) OVER rank <= $5 AS has_name
    FROM (SELECT name, max(count) FILTER (WHERE property = '') AS total FROM counted GROUP BY name) AS event
    WINDOW rank AS (ORDER BY name = '${otherValue}', total DESC, name ROWS UNBOUNDED PRECEDING)
  ), properties AS MATERIALIZED (
    -- FULL JOIN, here and below: every row has a partner, and the planner never makes a nested loop of it, which its guesses
    -- about groups would make of an inner join. coalesce() keeps it from turning this one into an inner join.
    SELECT name, property, total, occurrences, property <> '${otherValue}'
      AND sum(octet_length(to_json(property)::text) + 32) OVER (ORDER BY rank, total DESC, name ROWS UNBOUNDED PRECEDING) <= $6
      AS has_property
    FROM (
      SELECT name, property, total, occurrences, row_number() OVER (
        PARTITION BY name ORDER BY property = '${otherValue}', occurrences DESC, property
      ) AS rank
      FROM (SELECT name, property, sum(count)::bigint AS occurrences FROM counted GROUP BY name, property) AS owned
        FULL JOIN names USING (name)
      WHERE coalesce(has_name, false) AND coalesce(property, '') <> ''
    ) AS ordered
  ), shown AS MATERIALIZED (
    -- A long value is fetched by the ctid of one of its rows, which does not change within a statement.
    SELECT name, property, total, rank, count, (SELECT value FROM daily_event WHERE ctid = row_id) AS value
    FROM (
      SELECT *, sum(bytes + 18) OVER (ORDER BY rank, total DESC, name, property ROWS UNBOUNDED PRECEDING) AS bytes_so_far
      FROM (
        SELECT name, property, total, count, row_id, bytes, row_number() OVER (
          PARTITION BY name, property ORDER BY count DESC, key
        ) AS rank
        FROM counted FULL JOIN properties USING (name, property) WHERE coalesce(has_property, false) AND coalesce(key, '${otherValue}') <> '${otherValue}'
      ) AS ranked
      WHERE rank <= $7
    ) AS near
    WHERE bytes_so_far <= $8
  )
  SELECT name, property, value, count
  FROM (
    SELECT CASE WHEN has_name THEN name ELSE '${otherValue}' END AS name, CASE WHEN has_name THEN total END AS total,
      '' AS property, '' AS value, 0 AS rank, sum(total)::bigint AS count
    FROM names GROUP BY 1, 2
    UNION ALL
    SELECT name, total, property, value, rank, count FROM shown
    UNION ALL
    SELECT name, total, CASE WHEN has_property THEN property ELSE '${otherValue}' END, '${otherValue}', $7::int + 1,
      (sum(occurrences) - sum(coalesce(count, 0)))::bigint
    FROM properties
      FULL JOIN (SELECT name, property, sum(count) AS count FROM shown GROUP BY name, property) AS kept USING (name, property)
    GROUP BY 1, 2, 3
  ) AS answer
  WHERE count > 0
  ORDER BY name = '${otherValue}', total DESC, name, property = '${otherValue}', property, rank`;

/** Reads a site's custom events from the rollups, both days included. */
export async function readCustomEvents(pool: pg.Pool, query: { siteId: string } & Days): Promise<CustomEvent[]> {
  const { siteId, first, last } = query;
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const values = [siteId, first, last, names, nameBytes, propertyBytes, valuesPerProperty, valueBytes];
  const { rows } = await pool.query<EventRow>({ name: "read-events", text: readEventsSql, values });
  return toEvents(rows);
}

function toEvents(rows: readonly EventRow[]): CustomEvent[] {
  const events: { name: string; count: number; properties: Map<string, [string, number][]> }[] = [];
  for (const { name, property, value, count } of rows) {
    if (property === "") {
      events.push({ name, count, properties: new Map() });
      continue;
    }
    const properties = events.at(-1)?.properties;
    const counts = properties?.get(property);
    if (counts) counts.push([value, count]);
    else properties?.set(property, [[value, count]]);
  }
  // From entries, since an assignment per name would lose a property called `__proto__`.
  return events.map(({ name, count, properties }) => ({
    name,
    count,
    properties: Object.fromEntries([...properties].map(([property, counts]) => [property, Object.fromEntries(counts)])),
  }));
}
