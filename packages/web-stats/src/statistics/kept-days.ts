import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { DayPoint } from "./days.query.js";
import { readMinutes } from "./minutes.query.js";
import type { Sums } from "./statistics.query.js";

const minuteMs = 60_000;

/** Some 200 KB each at most. */
const maxDays = 100;

interface Kept {
  readonly version: string;
  readonly before: (minute: number) => Sums;
}

/** Reads parts of days from raw events, and keeps them while the days have the same version. */
export function createKeptDays(pool: pg.Pool) {
  const kept = new LRUCache<string, Kept>({ max: maxDays });
  return {
    /** The figures of a UTC day before a whole minute of it, and of the visits that began before it. */
    async until(siteId: string, { at: day, version }: DayPoint, until: Date): Promise<Sums> {
      const key = `${siteId} ${day}`;
      let found = kept.get(key);
      if (found?.version !== version) {
        found = { version, before: await readMinutes(pool, { siteId, day }) };
        kept.set(key, found);
      }
      return found.before((until.getTime() - Date.parse(day)) / minuteMs);
    },
  };
}
