import { setImmediate as nextTurn } from "node:timers/promises";
import { inTransaction, withConnection } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Days } from "../range.js";
import { collectParts } from "./collect-part.js";
import type { DayPart, PartNeeds } from "./day-part.js";
import { openDay, readVersions, type SiteDay } from "./day-rows.query.js";
import { hasNeeds, readPart, sizeOf } from "./part-blocks.js";
import { readStoredParts, readStoredSizes, type StoredKey, type StoredSize } from "./stored-parts.query.js";

/** Some or all parts of a UTC day with events. */
interface DayOfParts {
  readonly day: string;
  readonly parts: readonly DayPart[];
  /** Whether no more parts of the day follow. */
  readonly isEnd: boolean;
}

/** The visits and events of sites, by day and column. */
export interface DayColumns {
  /**
   * The parts of the days with events, in order. Between two of them other requests have their turn.
   * @throws an error with SQLSTATE 57014, as of a statement's timeout, when the days take longer than 15 s, or a day that must be
   * made from its events takes more than 128 MiB
   */
  read(asked: { siteId: string; days: Days; needs: PartNeeds }): AsyncGenerator<DayOfParts>;
}

interface Kept {
  readonly version: string;
  readonly parts: readonly DayPart[];
  /** When it was made from events, and how long that took, in milliseconds; zeros for a stored part. */
  readonly madeAt: number;
  readonly makingMs: number;
}

/** Bytes that are read from the store at once, while those before are counted. */
const groupBytes = 16_777_216;

const timeoutMs = 15_000;
const maxMadeBytes = 134_217_728;

/** A day of events that takes longer to make may stand for a changed one, for ten times as long as it took. */
const slowMs = 200;

/** @param maxBytes of parts kept in memory; the least recently used makes room */
export function createDayColumns({ pool, maxBytes }: { pool: pg.Pool; maxBytes: number }): DayColumns {
  const memory = new PartMemory(pool, maxBytes);
  return {
    async *read({ siteId, days, needs }) {
      const started = performance.now();
      const groups = groupDays(await readStoredSizes(pool, { siteId, ...days }, needs));
      const load = (at: number) => {
        const loading = memory.load(siteId, groups[at] ?? [], needs);
        // Awaited later, or never when the reader gives up.
        loading.catch(() => undefined);
        return loading;
      };
      let next = load(0);
      for (let at = 0; at < groups.length; at++) {
        const group = await next;
        next = load(at + 1);
        for (const day of group) {
          yield day;
          await nextTurn();
        }
        if (performance.now() - started > timeoutMs) throw tooLong("The days took too long to add up");
      }
    },
  };
}

/** Reads parts from memory, from the store, or from events. */
class PartMemory {
  private readonly kept: LRUCache<string, Kept>;
  private readonly underWay = new Map<string, Promise<Kept>>();

  constructor(
    private readonly pool: pg.Pool,
    maxBytes: number,
  ) {
    this.kept = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ parts }) => 1_000 + parts.reduce((sum, part) => sum + sizeOf(part), 0),
    });
  }

  async load(siteId: string, group: readonly DayGroup[], needs: PartNeeds): Promise<DayOfParts[]> {
    const partOf = await this.readParts(siteId, group, needs);
    const days: DayOfParts[] = [];
    for (const { day, version, numbers, isStart, isEnd } of group) {
      const parts = numbers.map((part) => partOf(day, part)).filter((part) => part !== undefined);
      if (numbers.length > 0 && parts.length === numbers.length) days.push({ day, parts, isEnd });
      // Somebody stored the day anew meanwhile, or nobody has.
      else if (isStart && isEnd) days.push({ day, parts: await this.make({ siteId, day }, version, needs), isEnd });
      else throw tooLong("The day changed while it was read");
    }
    return days;
  }

  /** Stored parts by day and number. Those of another version are missing. */
  private async readParts(siteId: string, group: readonly DayGroup[], needs: PartNeeds) {
    const keyOf = (day: string, part: number) => `${siteId} ${day} ${part}`;
    const found = new Map<string, DayPart>();
    const missing: StoredKey[] = [];
    for (const { day, version, numbers } of group) {
      for (const part of numbers) {
        const [stored] = this.find(keyOf(day, part), version, needs)?.parts ?? [];
        if (stored) found.set(keyOf(day, part), stored);
        else missing.push({ day, part, version });
      }
    }
    for (const { day, part, version, ...blocks } of await readStoredParts(this.pool, {
      siteId,
      wanted: missing,
      needs,
    })) {
      const read = readPart(blocks);
      found.set(keyOf(day, part), read);
      this.kept.set(keyOf(day, part), { version, parts: [read], madeAt: 0, makingMs: 0 });
    }
    return (day: string, part: number) => found.get(keyOf(day, part));
  }

  private find(key: string, version: string, needs: PartNeeds): Kept | undefined {
    const entry = this.kept.get(key);
    if (!entry?.parts.every((part) => hasNeeds(part, needs))) return undefined;
    const isRecent = entry.makingMs > slowMs && performance.now() - entry.madeAt < 10 * entry.makingMs;
    return entry.version === version || isRecent ? entry : undefined;
  }

  private async make({ siteId, day }: SiteDay, version: string, needs: PartNeeds): Promise<readonly DayPart[]> {
    const key = `${siteId} ${day}`;
    const there = this.find(key, version, needs);
    if (there) return there.parts;
    const started = this.underWay.get(key);
    const making = started ?? makeDay(this.pool, { siteId, day }).finally(() => this.underWay.delete(key));
    if (!started) this.underWay.set(key, making);
    const made = await making;
    this.kept.set(key, made);
    return made.parts;
  }
}

function tooLong(message: string): Error {
  return Object.assign(new Error(message), { code: "57014" });
}

/** Parts of a day that are read at once; without numbers the day must be made from its events. */
interface DayGroup {
  readonly day: string;
  readonly version: string;
  readonly numbers: readonly number[];
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Days in groups of bounded bytes. A day is divided only where it is larger than a group. */
function groupDays(sizes: readonly StoredSize[]): DayGroup[][] {
  const groups: DayGroup[][] = [];
  let [group, bytes] = [[] as DayGroup[], 0];
  const close = () => {
    if (group.length > 0) groups.push(group);
    [group, bytes] = [[], 0];
  };
  for (let at = 0, end = at; at < sizes.length; at = end) {
    const { day, version } = sizes[at] as StoredSize;
    while (sizes[end]?.day === day) end++;
    const parts = sizes.slice(at, end);
    const dayBytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes + dayBytes > groupBytes) close();
    let numbers: number[] = [];
    let isStart = true;
    for (const [index, { part, bytes: own }] of parts.entries()) {
      if (bytes + own > groupBytes && numbers.length > 0) {
        group.push({ day, version, numbers, isStart, isEnd: false });
        close();
        [numbers, isStart] = [[], false];
      }
      if (part !== null) numbers.push(part);
      bytes += own;
      if (index === parts.length - 1) group.push({ day, version, numbers, isStart, isEnd: true });
    }
    // A day that must be made may be large.
    if (numbers.length === 0) close();
  }
  close();
  return groups;
}

async function makeDay(pool: pg.Pool, siteDay: SiteDay): Promise<Kept> {
  const madeAt = performance.now();
  const { version, parts } = await readDay(pool, siteDay, async (day) => {
    const made: DayPart[] = [];
    let bytes = 0;
    for await (const part of day) {
      made.push(part);
      bytes += sizeOf(part);
      const isLate = performance.now() - madeAt > timeoutMs;
      if (isLate || bytes > maxMadeBytes) throw tooLong("A day that is not stored has too many events");
    }
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
