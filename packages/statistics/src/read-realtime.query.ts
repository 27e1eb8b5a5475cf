import { uuidV7Floor } from "@waymark/database";
import type pg from "pg";

/**
 * Distinct visitors among the page views between two moments. Ids start with the milliseconds of their event's time, so
 * this is one range of `event_pkey` (site_id, id): as many rows as the site had events in between, whatever came before.
 * DISTINCT in a subquery hashes, where count(DISTINCT …) would sort.
 */
const readRealtimeSql = `
  SELECT count(visitor) AS visitors
  FROM (SELECT DISTINCT visitor FROM event WHERE site_id = $1 AND id >= $2 AND id < $3 AND type = 'pageview') AS seen`;

/** How many visitors opened a page between two moments, both included, in milliseconds since 1970. */
export async function readRealtime(
  pool: pg.Pool,
  query: { siteId: string; from: number; until: number },
): Promise<number> {
  const values = [query.siteId, uuidV7Floor(query.from), uuidV7Floor(query.until + 1)];
  const { rows } = await pool.query<{ visitors: number }>({ name: "read-realtime", text: readRealtimeSql, values });
  return rows[0]?.visitors ?? 0;
}
