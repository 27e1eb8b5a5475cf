import type pg from "pg";
import { eventRowBytes } from "./day-bounds.js";
import type { SiteDay } from "./record-events.query.js";

/** A day's custom events, by one range of `daily_event_pkey`. Runs only on a nearly full day, and reads what the bound allows. */
const readListedEventsSql = "SELECT name, property, value FROM daily_event WHERE site_id = $1 AND day = $2";

export async function readListedEvents(client: pg.ClientBase, { siteId, day }: SiteDay) {
  const { rows } = await client.query<{ name: string; property: string; value: string }>(readListedEventsSql, [
    siteId,
    day,
  ]);
  const listed = new Set(rows.map(({ name, property, value }) => JSON.stringify([name, property, value])));
  const properties = new Set(rows.map(({ name, property }) => JSON.stringify([name, property])));
  return {
    has: (name: string, property: string, value: string) => listed.has(JSON.stringify([name, property, value])),
    hasProperty: (name: string, property: string) => properties.has(JSON.stringify([name, property])),
  };
}

/** Stores the bytes of a day's custom events, by a range of `daily_event_pkey`. It runs once for a day. */
const countEventBytesSql = `
  INSERT INTO daily_size (site_id, day, dimension, "values")
  SELECT $1::uuid, $2::date, 'event_bytes',
    COALESCE(sum(octet_length(name) + octet_length(property) + octet_length(value) + ${eventRowBytes}), 0)
  FROM daily_event WHERE site_id = $1 AND day = $2
  RETURNING "values"`;

/** Counts the bytes of a day with a number of rows only. The caller has locked the site. */
export async function countEventBytes(client: pg.ClientBase, { siteId, day }: SiteDay): Promise<number> {
  const { rows } = await client.query<{ values: number }>(countEventBytesSql, [siteId, day]);
  return rows[0]?.values ?? 0;
}
