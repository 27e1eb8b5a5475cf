import type pg from "pg";

/** Occurrences of a custom event (property and value empty) or of one value of one of its properties. */
export interface EventRow {
  name: string;
  property: string;
  value: string;
  count: number;
}

/**
 * The range's custom events: the most frequent first, and in each the total before its properties by name and
 * frequency. One range of `daily_event_pkey`, as many rows as the days have values.
 */
const readEventsSql = `
  WITH event AS (
    SELECT name, property, value, sum(count) AS count
    FROM daily_event WHERE site_id = $1 AND day BETWEEN $2 AND $3
    GROUP BY name, property, value
  )
  SELECT name, property, value, count
  FROM event JOIN (SELECT name, count AS total FROM event WHERE property = '') AS whole USING (name)
  ORDER BY total DESC, name, property, count DESC, value`;

/** Reads a site's custom events from the rollups, both days included. */
export async function readEvents(
  pool: pg.Pool,
  query: { siteId: string; first: string; last: string },
): Promise<EventRow[]> {
  const values = [query.siteId, query.first, query.last];
  const { rows } = await pool.query<EventRow>({ name: "read-events", text: readEventsSql, values });
  return rows;
}
