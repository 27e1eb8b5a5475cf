import { uuidV7Floor } from "@waymark/database";
import type pg from "pg";
import type { Counts, Point } from "./days.query.js";

const hourMs = 3_600_000;

/** A UTC day up to a moment of it. */
interface PartOfDay {
  siteId: string;
  day: string;
  until: Date;
}

/**
 * The raw events between two moments, by a range of `event_pkey`: ids start with the milliseconds of their events' times. An
 * hour on both sides finds ids of clocks that were adjusted; `at` decides.
 */
const eventsOfPart = "FROM event WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4 AND at < $5";

/** The figures of each hour that has any. A visitor counts in every hour with a page view. One hash per visitor and hour. */
const readHoursSql = `
  SELECT hour, count(visitor) FILTER (WHERE pageviews > 0) AS visitors,
    sum(pageviews)::bigint AS pageviews, sum(events)::bigint AS events
  FROM (
    SELECT extract(hour FROM at AT TIME ZONE 'UTC')::int AS hour, visitor,
      count(*) FILTER (WHERE type = 'pageview') AS pageviews, count(*) FILTER (WHERE type <> 'pageview') AS events
    ${eventsOfPart}
    GROUP BY 1, 2
  ) AS seen
  GROUP BY hour`;

/** The figures of the part as if the day had ended with it. */
const readPartSql = `
  SELECT count(visitor) FILTER (WHERE pageviews > 0) AS visitors,
    coalesce(sum(pageviews), 0)::bigint AS pageviews, coalesce(sum(events), 0)::bigint AS events
  FROM (
    SELECT visitor,
      count(*) FILTER (WHERE type = 'pageview') AS pageviews, count(*) FILTER (WHERE type <> 'pageview') AS events
    ${eventsOfPart}
    GROUP BY 1
  ) AS seen`;

/** Whether the day's raw events are all there: retention removes the oldest. One row. */
const isCompleteSql = "SELECT NOT EXISTS (SELECT FROM event_horizon WHERE day > $1) AS complete";

function valuesOf({ siteId, day, until }: PartOfDay) {
  const from = Date.parse(day);
  const to = Math.min(until.getTime(), from + 24 * hourMs);
  return [
    siteId,
    uuidV7Floor(Math.max(0, from - hourMs)),
    uuidV7Floor(Math.max(0, to + hourMs)),
    new Date(from),
    new Date(to),
  ];
}

/** Whether the raw events of a UTC day are kept, so that its hours can be read. */
export async function hasHours(pool: pg.Pool, day: string): Promise<boolean> {
  const query = { name: "has-hours", text: isCompleteSql, values: [day] };
  const { rows } = await pool.query<{ complete: boolean }>(query);
  return rows[0]?.complete ?? true;
}

/** Reads the hours of a UTC day up to a moment, the hour of the moment included; hours without events have zeros. */
export async function readHours(pool: pg.Pool, part: PartOfDay): Promise<Point[]> {
  const query = { name: "read-hours", text: readHoursSql, values: valuesOf(part) };
  const { rows } = await pool.query<Counts & { hour: number }>(query);
  const stored = new Map(rows.map(({ hour, ...counts }) => [hour, counts]));
  const count = Math.min(24, Math.max(1, Math.ceil((part.until.getTime() - Date.parse(part.day)) / hourMs)));
  return Array.from({ length: count }, (_, hour) => ({
    at: `${part.day}T${String(hour).padStart(2, "0")}`,
    ...(stored.get(hour) ?? { visitors: 0, pageviews: 0, events: 0 }),
  }));
}

/** Reads the figures of a UTC day up to a moment. */
export async function readPartOfDay(pool: pg.Pool, part: PartOfDay): Promise<Counts> {
  const { rows } = await pool.query<Counts>({ name: "read-part-of-day", text: readPartSql, values: valuesOf(part) });
  return rows[0] ?? { visitors: 0, pageviews: 0, events: 0 };
}
