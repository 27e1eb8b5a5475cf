import { uuidV7Floor } from "@waymark/database";
import type pg from "pg";

/** The minutes that count as now. */
export const realtimeMinutes = 5;

/**
 * Distinct visitors among the page views between two moments. Ids start with the milliseconds of their event's time, so
 * this reads one range of `event_pkey` (site_id, id): the events between both moments and no others.
 * DISTINCT in a subquery hashes; count(DISTINCT …) would sort.
 */
const readRealtimeSql = `
  SELECT count(visitor) AS visitors
  FROM (SELECT DISTINCT visitor FROM event WHERE site_id = $1 AND id >= $2 AND id < $3 AND type = 'pageview') AS seen`;

/** Counts the visitors who opened a page in the last five minutes; `since` is their start. */
export async function readRealtime(
  pool: pg.Pool,
  { siteId, now }: { siteId: string; now: Date },
): Promise<{ since: string; visitors: number }> {
  const from = now.getTime() - realtimeMinutes * 60_000;
  const values = [siteId, uuidV7Floor(from), uuidV7Floor(now.getTime() + 1)];
  const { rows } = await pool.query<{ visitors: number }>({ name: "read-realtime", text: readRealtimeSql, values });
  return { since: new Date(from).toISOString(), visitors: rows[0]?.visitors ?? 0 };
}
