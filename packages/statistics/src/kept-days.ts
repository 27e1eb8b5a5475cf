import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Counts, PointSums } from "./days.query.js";
import { readHours, readMinutes } from "./hours.query.js";
import type { Sums } from "./statistics.query.js";
import { type BegunVisits, readVisitHours, readVisitMinutes } from "./visits.query.js";

const hourMs = 3_600_000;
const minuteMs = 60_000;

const noVisits: BegunVisits = { visits: 0, bounces: 0, visit_us: 0, visit_views: 0 };

/** Some 20 KB each. */
const maxDays = 200;

/** An hour that ended this long ago rarely gets a late event. */
const settledMs = 600_000;

type DayCounts = Pick<Counts, "pageviews" | "events">;

interface Kept<Value> {
  ofDay: DayCounts;
  value: Value;
}

/**
 * Reads parts of days from raw events, and keeps them while the day's counts in the rollups stay the same: events are only
 * ever added to a day, and the same transaction adds to its counts.
 */
export function createKeptDays(pool: pg.Pool) {
  const hours = new LRUCache<string, Kept<Counts[]> & { at: number }>({ max: maxDays });
  const minutes = new LRUCache<string, Kept<(minute: number) => Sums>>({ max: maxDays });

  /** Hours that ended before the last reading are read again only where the day's sum shows an event in them. */
  async function readChanged(siteId: string, day: string, now: number): Promise<Kept<Counts[]> & { at: number }> {
    const last = hours.get(`${siteId} ${day}`);
    const ended = Math.floor(((last?.at ?? 0) - settledMs - Date.parse(day)) / hourMs);
    const settled = last?.value.slice(0, Math.max(0, ended)) ?? [];
    const read = async (known: Counts[]) => {
      const { hours: fresh, ofDay } = await readHours(pool, { siteId, day, from: Math.min(known.length, 23) });
      return { ofDay, value: [...known.slice(0, 23), ...fresh], at: now };
    };
    const changed = await read(settled);
    return settled.length === 0 || isSame(sum(changed.value), changed.ofDay) ? changed : read([]);
  }

  return {
    /**
     * The hours of a UTC day up to a moment, the hour of the moment included; hours without events have zeros. Visits are read
     * each time: one changes for as long as it lasts.
     */
    async hours(siteId: string, { at: day, ...ofDay }: PointSums, until: Date): Promise<PointSums[]> {
      const key = `${siteId} ${day}`;
      let kept = hours.get(key);
      if (!kept || !isSame(kept.ofDay, ofDay)) {
        kept = await readChanged(siteId, day, until.getTime());
        hours.set(key, kept);
      }
      const count = Math.max(1, Math.ceil((until.getTime() - Date.parse(day)) / hourMs));
      const visits = await readVisitHours(pool, { siteId, day });
      return kept.value.slice(0, count).map((counts, hour) => {
        return { at: `${day}T${String(hour).padStart(2, "0")}`, ...counts, ...(visits.get(hour) ?? noVisits) };
      });
    },
    /** The figures of a UTC day before a whole minute of it, and of the visits that began before it. */
    async until(siteId: string, { at: day, ...ofDay }: PointSums, until: Date): Promise<Sums> {
      const key = `${siteId} ${day}`;
      let kept = minutes.get(key);
      if (!kept || !isSame(kept.ofDay, ofDay)) {
        const [counts, visits] = [
          await readMinutes(pool, { siteId, day }),
          await readVisitMinutes(pool, { siteId, day }),
        ];
        kept = { ofDay, value: (minute) => ({ ...counts(minute), ...visits(minute) }) };
        minutes.set(key, kept);
      }
      return kept.value((until.getTime() - Date.parse(day)) / minuteMs);
    },
  };
}

function isSame(one: DayCounts, other: DayCounts): boolean {
  return one.pageviews === other.pageviews && one.events === other.events;
}

function sum(counts: readonly Counts[]): DayCounts {
  const total = { pageviews: 0, events: 0 };
  for (const { pageviews, events } of counts) {
    total.pageviews += pageviews;
    total.events += events;
  }
  return total;
}
