import { otherValue } from "@waymark/lists";
import type pg from "pg";
import type { Days } from "./range.js";

/** Occurrences of a custom event (property and value empty) or of one value of one of its properties. */
export interface EventRow {
  name: string;
  property: string;
  value: string;
  count: number;
}

/**
 * What an answer holds at most; the rest counts as `(other)`. Bytes are those of the JSON, so that all of it stays under
 * 1 MiB: a property may have another value of 2,000 bytes in each of millions of events.
 */
export const eventBounds = {
  names: 1_000,
  valuesPerProperty: 1_000,
  nameBytes: 262_144,
  propertyBytes: 262_144,
  valueBytes: 520_192,
} as const;

/**
 * The range's custom events, the most frequent first, and in each the total before its properties by name and their values by
 * frequency, as far as the bounds go. Sums are exact: the row `(other)` at the end of a list counts the rest. Each
 * event gets its first property, and each property its first value, before any gets its second.
 * Reads one range of `daily_event_pkey` once. Long values are grouped by their start and MD5, since sorting hundreds of
 * megabytes would take the statement's time; the answer fetches its values by the ctid of one of their rows, which stays
 * the same within one statement. Each FULL JOIN finds a partner for every row: unlike an inner one it is never planned as a loop
 * over a loop, which wrong guesses about groups would make it; coalesce keeps the planner from making an inner one of it.
 */
const readEventsSql = `
  WITH counted AS MATERIALIZED (
    SELECT name, property, key, sum(count)::bigint AS count, min(row_id) AS row_id, max(bytes) AS bytes
    FROM (
      SELECT ctid AS row_id, name, property, count, octet_length(to_json(value)::text) AS bytes,
        CASE WHEN octet_length(value) <= 64 THEN value ELSE left(value, 64) || md5(value) END AS key
      FROM daily_event WHERE site_id = $1 AND day BETWEEN $2 AND $3
    ) AS stored
    GROUP BY name, property, key
  ), names AS MATERIALIZED (
    SELECT name, total, name <> '${otherValue}' AND row_number() OVER place <= $4
      AND sum(octet_length(to_json(name)::text) + 90) OVER place <= $5 AS has_name
    FROM (SELECT name, max(count) FILTER (WHERE property = '') AS total FROM counted GROUP BY name) AS event
    WINDOW place AS (ORDER BY name = '${otherValue}', total DESC, name ROWS UNBOUNDED PRECEDING)
  ), properties AS MATERIALIZED (
    SELECT name, property, total, occurrences, property <> '${otherValue}'
      AND sum(octet_length(to_json(property)::text) + 32) OVER (ORDER BY place, total DESC, name ROWS UNBOUNDED PRECEDING) <= $6
      AS has_property
    FROM (
      SELECT name, property, total, occurrences, row_number() OVER (
        PARTITION BY name ORDER BY property = '${otherValue}', occurrences DESC, property
      ) AS place
      FROM (SELECT name, property, sum(count)::bigint AS occurrences FROM counted GROUP BY name, property) AS owned
        FULL JOIN names USING (name)
      WHERE coalesce(has_name, false) AND coalesce(property, '') <> ''
    ) AS placed
  ), shown AS MATERIALIZED (
    SELECT name, property, total, place, count, (SELECT value FROM daily_event WHERE ctid = row_id) AS value
    FROM (
      SELECT *, sum(bytes + 18) OVER (ORDER BY place, total DESC, name, property ROWS UNBOUNDED PRECEDING) AS bytes_so_far
      FROM (
        SELECT name, property, total, count, row_id, bytes, row_number() OVER (
          PARTITION BY name, property ORDER BY count DESC, key
        ) AS place
        FROM counted FULL JOIN properties USING (name, property) WHERE coalesce(has_property, false) AND coalesce(key, '${otherValue}') <> '${otherValue}'
      ) AS ranked
      WHERE place <= $7
    ) AS near
    WHERE bytes_so_far <= $8
  )
  SELECT name, property, value, count
  FROM (
    SELECT CASE WHEN has_name THEN name ELSE '${otherValue}' END AS name, CASE WHEN has_name THEN total END AS total,
      '' AS property, '' AS value, 0 AS place, sum(total)::bigint AS count
    FROM names GROUP BY 1, 2
    UNION ALL
    SELECT name, total, property, value, place, count FROM shown
    UNION ALL
    SELECT name, total, CASE WHEN has_property THEN property ELSE '${otherValue}' END, '${otherValue}', $7::int + 1,
      (sum(occurrences) - sum(coalesce(count, 0)))::bigint
    FROM properties
      FULL JOIN (SELECT name, property, sum(count) AS count FROM shown GROUP BY name, property) AS kept USING (name, property)
    GROUP BY 1, 2, 3
  ) AS answer
  WHERE count > 0
  ORDER BY name = '${otherValue}', total DESC, name, property = '${otherValue}', property, place`;

/** Reads a site's custom events from the rollups, both days included. */
export async function readEvents(pool: pg.Pool, query: { siteId: string } & Days): Promise<EventRow[]> {
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const values = [
    query.siteId,
    query.first,
    query.last,
    names,
    nameBytes,
    propertyBytes,
    valuesPerProperty,
    valueBytes,
  ];
  const { rows } = await pool.query<EventRow>({ name: "read-events", text: readEventsSql, values });
  return rows;
}
