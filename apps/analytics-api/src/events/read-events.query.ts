import type pg from "pg";
import { foldedValue } from "../folded-value.js";
import type { Days } from "../range.js";

/** Occurrences of a custom event (property and value empty) or of one value of one of its properties. */
export interface EventRow {
  name: string;
  property: string;
  value: string;
  count: number;
}

/** What an answer holds at most: a property may have another value in each of millions of events. */
export const eventBounds = { names: 1_000, valuesPerProperty: 1_000 } as const;

/**
 * The range's custom events: the most frequent first, and in each the total before its properties by name and
 * frequency, as far as the bounds go. A folded tail comes last and is never cut off. One range of `daily_event_pkey`, as many rows as the days have values.
 */
const readEventsSql = `
  WITH event AS (
    SELECT name, property, value, sum(count) AS count
    FROM daily_event WHERE site_id = $1 AND day BETWEEN $2 AND $3
    GROUP BY name, property, value
  ), ranked AS (
    SELECT *, row_number() OVER (
      PARTITION BY name, property ORDER BY value = '${foldedValue}', count DESC, value
    ) AS position
    FROM event
  ), whole AS (
    SELECT name, count AS total FROM event WHERE property = ''
    ORDER BY name = '${foldedValue}' DESC, count DESC, name LIMIT $4
  )
  SELECT name, property, value, count
  FROM ranked JOIN whole USING (name)
  WHERE position <= $5 OR value = '${foldedValue}'
  ORDER BY name = '${foldedValue}', total DESC, name, property = '${foldedValue}', property, position`;

/** Reads a site's custom events from the rollups, both days included. */
export async function readEvents(pool: pg.Pool, query: { siteId: string } & Days): Promise<EventRow[]> {
  const values = [query.siteId, query.first, query.last, eventBounds.names, eventBounds.valuesPerProperty];
  const { rows } = await pool.query<EventRow>({ name: "read-events", text: readEventsSql, values });
  return rows;
}
