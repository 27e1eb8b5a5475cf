import { setImmediate as nextTurn } from "node:timers/promises";
import { inTransaction, withConnection } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Days } from "../range.js";
import { collectParts } from "./collect-part.js";
import type { DayPart, PartNeeds } from "./day-part.js";
import { openDay, readVersions, type SiteDay } from "./day-rows.query.js";
import { hasNeeds, readPart, sizeOf } from "./part-blocks.js";
import { readStoredParts } from "./stored-parts.query.js";

/** A UTC day with events, and all its parts. */
export interface DayOfParts {
  readonly day: string;
  readonly parts: readonly DayPart[];
}

/** The visits and events of sites, by day and column. */
export interface DayColumns {
  /**
   * The days with events, in order. Between two days other requests have their turn.
   * @throws an error with SQLSTATE 57014, as of a statement's timeout, when the days take longer than 15 s
   */
  read(asked: { siteId: string; days: Days; needs: PartNeeds }): AsyncGenerator<DayOfParts>;
}

interface Kept {
  readonly version: string;
  readonly parts: readonly DayPart[];
  /** When it was made from events, and how long that took, in milliseconds; zeros for a stored day. */
  readonly madeAt: number;
  readonly makingMs: number;
}

/** Days that are read from the store at once, while the ones before are counted. */
const groupDays = 4;

const timeoutMs = 15_000;

/** A day of events that takes longer to make may stand for a changed one, for ten times as long as it took. */
const slowMs = 200;

/** @param maxBytes of days kept in memory; the least recently used makes room */
export function createDayColumns({ pool, maxBytes }: { pool: pg.Pool; maxBytes: number }): DayColumns {
  const kept = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: ({ parts }) => 1_000 + parts.reduce((sum, part) => sum + sizeOf(part), 0),
  });
  const underWay = new Map<string, Promise<Kept>>();

  function findKept(key: string, version: string, needs: PartNeeds): Kept | undefined {
    const entry = kept.get(key);
    if (!entry?.parts.every((part) => hasNeeds(part, needs))) return undefined;
    const isRecent = entry.makingMs > slowMs && performance.now() - entry.madeAt < 10 * entry.makingMs;
    return entry.version === version || isRecent ? entry : undefined;
  }

  function make(key: string, siteDay: SiteDay): Promise<Kept> {
    const started = underWay.get(key);
    if (started) return started;
    const making = makeDay(pool, siteDay).finally(() => underWay.delete(key));
    underWay.set(key, making);
    return making;
  }

  async function load(siteId: string, days: readonly [day: string, version: string][], needs: PartNeeds) {
    const found = new Map<string, Kept>();
    for (const [day, version] of days) {
      const entry = findKept(keyOf(siteId, day), version, needs);
      if (entry) found.set(day, entry);
    }
    const missing = days.filter(([day]) => !found.has(day));
    for (const [day, entry] of await readStored(pool, siteId, missing, needs)) found.set(day, entry);
    for (const [day] of missing) {
      const key = keyOf(siteId, day);
      const entry = found.get(day) ?? (await make(key, { siteId, day }));
      found.set(day, entry);
      kept.set(key, entry);
    }
    return days.map(([day]) => ({ day, parts: found.get(day)?.parts ?? [] }));
  }

  return {
    async *read({ siteId, days, needs }) {
      const started = performance.now();
      const versions = [...(await readVersions(pool, { siteId, ...days }))];
      const loadFrom = (at: number) => {
        const loading = load(siteId, versions.slice(at, at + groupDays), needs);
        // Awaited later, or never when the reader gives up.
        loading.catch(() => undefined);
        return loading;
      };
      let next = loadFrom(0);
      for (let at = 0; at < versions.length; at += groupDays) {
        const group = await next;
        next = loadFrom(at + groupDays);
        for (const day of group) {
          yield day;
          await nextTurn();
        }
        if (performance.now() - started > timeoutMs) {
          throw Object.assign(new Error("The days took too long to add up"), { code: "57014" });
        }
      }
    },
  };
}

function keyOf(siteId: string, day: string): string {
  return `${siteId} ${day}`;
}

/** Reads days that are stored in their present version, with all parts. */
async function readStored(
  pool: pg.Pool,
  siteId: string,
  days: readonly [day: string, version: string][],
  needs: PartNeeds,
): Promise<Map<string, Kept>> {
  const byDay = new Map<string, Kept>();
  if (days.length === 0) return byDay;
  const versions = new Map(days);
  const stored = await readStoredParts(pool, { siteId, days: [...versions.keys()], needs });
  for (const { day, version, ...blocks } of stored) {
    if (versions.get(day) !== version) continue;
    const parts = [...(byDay.get(day)?.parts ?? []), readPart(blocks)];
    byDay.set(day, { version, parts, madeAt: 0, makingMs: 0 });
  }
  return byDay;
}

async function makeDay(pool: pg.Pool, siteDay: SiteDay): Promise<Kept> {
  const madeAt = performance.now();
  const { version, parts } = await readDay(pool, siteDay, async (day) => {
    const made: DayPart[] = [];
    for await (const part of day) made.push(part);
    return made;
  });
  return { version, parts, madeAt, makingMs: performance.now() - madeAt };
}

/**
 * One snapshot for visits and events. A day is a range of an index, though the planner would rather read its month, and is sorted in
 * memory up to this size.
 */
const oneMoment = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL work_mem = '64MB'`;

/** Makes a day's parts from its visits and events, all of one moment, and does work with them. */
export function readDay<Result>(
  pool: pg.Pool,
  siteDay: SiteDay,
  work: (parts: AsyncGenerator<DayPart>, client: pg.ClientBase, version: string) => Promise<Result>,
): Promise<{ version: string; parts: Result }> {
  return withConnection(pool, (client) =>
    inTransaction(client, async () => {
      await client.query(oneMoment);
      const { siteId, day } = siteDay;
      const versions = await readVersions(client, { siteId, first: day, last: day });
      const version = versions.get(day) ?? "";
      const { visits, events } = await openDay(client, siteDay);
      return { version, parts: await work(collectParts(visits, events), client, version) };
    }),
  );
}
