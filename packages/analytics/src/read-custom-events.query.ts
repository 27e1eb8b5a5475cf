import type pg from "pg";
import { type Range, utcDaysOf } from "./utc-range.js";

/** What a site's custom events come to (statistics contract, "Custom event summary"). */
export interface CustomEvents {
  range: Range;
  events: { name: string; count: number; properties: Record<string, Record<string, number>> }[];
}

/** Names in an answer, and values of each property: the most frequent ones. A property may hold a value per event. */
export const customEventBounds = { names: 1_000, valuesPerProperty: 1_000 } as const;

interface Row {
  name: string;
  property: string;
  value: string;
  count: string;
}

/**
 * Adds up a site's daily counts: per event (with an empty property) and per value of each of its properties, the most
 * frequent first. One range of the primary key (site, day, name, property, value); raw events are never read.
 */
const readCustomEventsSql = `
  WITH added AS MATERIALIZED (
    SELECT name, property, value, sum(count) AS count
    FROM daily_event WHERE site_id = $1 AND day BETWEEN $2::date AND $3::date
    GROUP BY name, property, value
  ), named AS (
    SELECT name, row_number() OVER (ORDER BY count DESC, name) AS place FROM added WHERE property = ''
    ORDER BY place LIMIT $4
  ), placed AS (
    SELECT name, property, value, count,
      row_number() OVER (PARTITION BY name, property ORDER BY count DESC, value) AS value_place
    FROM added
  )
  SELECT name, property, value, count FROM placed JOIN named USING (name)
  WHERE value_place <= $5
  ORDER BY place, property, value_place`;

/**
 * Reads the custom events of a site that the caller has found to be the account's: by count, then by name; within a
 * property its values by count, too.
 * @param now the day that a range ends with
 */
export async function readCustomEvents(pool: pg.Pool, siteId: string, range: Range, now: Date): Promise<CustomEvents> {
  const { from, to } = utcDaysOf(range, now);
  const { names, valuesPerProperty } = customEventBounds;
  const { rows } = await pool.query<Row>({
    name: "read-custom-events",
    text: readCustomEventsSql,
    values: [siteId, from, to, names, valuesPerProperty],
  });
  const events: { name: string; count: number; properties: Map<string, [string, number][]> }[] = [];
  for (const { name, property, value, count } of rows) {
    // An event's own row, with an empty property, comes before those of its properties.
    if (property === "") events.push({ name, count: Number(count), properties: new Map() });
    const properties = events.at(-1)?.properties;
    if (property === "" || !properties) continue;
    const values = properties.get(property) ?? [];
    values.push([value, Number(count)]);
    properties.set(property, values);
  }
  return { range, events: events.map((event) => ({ ...event, properties: toObjects(event.properties) })) };
}

/** Built from entries, since an assignment would lose a property or a value that is called `__proto__`. */
function toObjects(properties: ReadonlyMap<string, [string, number][]>): Record<string, Record<string, number>> {
  return Object.fromEntries([...properties].map(([property, values]) => [property, Object.fromEntries(values)]));
}
