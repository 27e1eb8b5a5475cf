import type pg from "pg";

interface HeavyDay {
  siteId: string;
  day: string;
  visitors: number;
  /** SQL of a path and of JSON, by the visitor's number `n`. A visitor has a view, and an event where there is JSON. */
  path: string;
  props?: string;
}

/** Stores a day as beacons of so many visitors leave it, in seconds: one visit each, without other lists than the totals. */
export async function addHeavyDay(pool: pg.Pool, { siteId, day, visitors, path, props }: HeavyDay): Promise<void> {
  const events = props ? 1 : 0;
  await pool.query(
    `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, events, visits)
     VALUES ($1, 'total', $2, '', $3, $3, $3 * $4::int, $3)`,
    [siteId, day, visitors, events],
  );
  await pool.query(
    `INSERT INTO visit (site_id, day, visitor, first_us, last_us, entry_us, entry_id, views, events, entry_path, exit_path, channel, viewed)
     SELECT $1, $2, n, n * 1000::bigint, n * 1000::bigint + $4::int, n * 1000::bigint, gen_random_uuid(), 1, $4::int, ${path}, ${path}, 'Direct', '{}'
     FROM generate_series(1, $3::int) AS n`,
    [siteId, day, visitors, events],
  );
  const moment = `($2::date AT TIME ZONE 'UTC' + n * interval '1 ms')`;
  const event = (columns: string, values: string, us: number) => `
    INSERT INTO event (site_id, id, at, visitor, channel, ${columns})
    SELECT $1, (left(uuid_floor(${moment})::text, 35) || ${us})::uuid, ${moment} + ${us} * interval '1 us', n, 'Direct', ${values}
    FROM generate_series(1, $3::int) AS n`;
  await pool.query(event("type, path", `'pageview', ${path}`, 0), [siteId, day, visitors]);
  if (!props) return;
  await pool.query(event("type, path, name, props", `'event', '/', 'e', ${props}`, 1), [siteId, day, visitors]);
}
