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

/** Counts the visitors who opened a page in the last five minutes, under filters in a visit that matches; `since` is their start. */
export async function readRealtime(
  pool: pg.Pool,
  { siteId, now, filtering }: { siteId: string; now: Date; filtering: Filtering | undefined },
): Promise<{ since: string; visitors: number }> {
  const from = now.getTime() - realtimeMinutes * 60_000;
  const since = new Date(from).toISOString();
  if (filtering) return { since, visitors: await countMatching(filtering, { siteId, from, to: now.getTime() }) };
  const values = [siteId, uuidV7Floor(from), uuidV7Floor(now.getTime() + 1)];
  const { rows } = await pool.query<{ visitors: number }>({ name: "read-realtime", text: readRealtimeSql, values });
  return { since, visitors: rows[0]?.visitors ?? 0 };
}

async function countMatching(
  { columns, filters }: Filtering,
  { siteId, from, to }: { siteId: string; from: number; to: number },
): Promise<number> {
  const days = { first: toDay(from), last: toDay(to) };
  let visitors = 0;
  const needs = { ...needsOf(filters), times: true };
  await columns.read({ siteId, days, needs }, async ({ day, part }) => {
    const [first, last] = [from - Date.parse(day), to - Date.parse(day)];
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
  return visitors;
}
