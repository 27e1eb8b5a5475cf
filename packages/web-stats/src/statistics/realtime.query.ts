import { uuidV7Floor } from "@waymark/database";
import type pg from "pg";
import { matchVisits, needsOf } from "./filters/filter.js";
import { toDay } from "./range.js";
import type { Filtering } from "./read-statistics.js";

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

/** Counts the visitors with a page view in the last five minutes, in a visit that matches; `since` is their start. */
export async function readFilteredRealtime(
  { columns, filters }: Filtering,
  { siteId, now }: { siteId: string; now: Date },
): Promise<{ since: string; visitors: number }> {
  const from = now.getTime() - realtimeMinutes * 60_000;
  const days = { first: toDay(from), last: toDay(now.getTime()) };
  let visitors = 0;
  const needs = { ...needsOf(filters), times: true };
  await columns.read({ siteId, days, needs }, async ({ day, part }) => {
    const [first, last] = [from - Date.parse(day), now.getTime() - Date.parse(day)];
    const match = await matchVisits(part, filters, columns.work);
    const { visits, events } = part;
    const seen = new Uint8Array(part.visitors);
    for (let visit = 0; visit < visits.count; visit++) {
      if (match.visits[visit] === 0) continue;
      const end = visits.firstEvent[visit + 1] ?? 0;
      for (let event = visits.firstEvent[visit] ?? 0; event < end; event++) {
        const time = events.times?.[event] ?? -1;
        const isView = events.names.ids[event] === 0 && match.events?.[event] !== 0;
        if (isView && time >= first && time <= last) seen[visits.visitor[visit] ?? 0] = 1;
      }
    }
    for (const one of seen) visitors += one;
  });
  return { since: new Date(from).toISOString(), visitors };
}
