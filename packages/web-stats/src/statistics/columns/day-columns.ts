import { inTransaction, withConnection } from "@waymark/database";
import { createTurns } from "@waymark/service/http";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Days } from "../range.js";
import { createWork, tooLong, type Work } from "../work.js";
import { collectParts } from "./collect-part.js";
import type { DayPart, PartNeeds } from "./day-part.js";
import { openDay, readVersions, type SiteDay } from "./day-rows.query.js";
import { hasNeeds, readPart, sizeOf } from "./part-blocks.js";
import { readStoredParts, readStoredSizes, type StoredKey, type StoredSize } from "./stored-parts.query.js";

/** The visits and events of sites, by day and column. */
export interface DayColumns {
  /** For one request, whose work it counts. @param owner its account */
  open(owner: string): ColumnReader;
}

/** A part of a UTC day with events. */
interface PartOfDay {
  readonly day: string;
  readonly part: DayPart;
}

/** The columns that one request reads, and the work that it does with them. */
export interface ColumnReader {
  readonly work: Work;
  /**
   * Hands over the parts of the days with events, in order and one after the other.
   * @param onEnd called after the last part of each day
   * @throws an error with SQLSTATE 57014, as of a statement's timeout, when the request takes longer than 15 s
   */
  read(
    asked: { siteId: string; days: Days; needs: PartNeeds },
    onPart: (part: PartOfDay) => Promise<void>,
    onEnd?: (day: string) => Promise<void>,
  ): Promise<void>;
}

interface Kept {
  readonly version: string;
  readonly parts: readonly DayPart[];
  /** When it was made from events, and how long that took, in milliseconds; zeros for a stored part. */
  readonly madeAt: number;
  readonly makingMs: number;
}

/** Bytes that are read from the store at once, while those before are counted. */
const groupBytes = 4_194_304;

/** A day of events that takes longer to make may stand for a changed one, for ten times as long as it took. */
const slowMs = 200;

/** @param maxBytes of parts kept in memory; the least recently used makes room */
export function createDayColumns({ pool, maxBytes }: { pool: pg.Pool; maxBytes: number }): DayColumns {
  const memory = new PartMemory(pool, maxBytes);
  const turn = createTurns();
  return { open: (owner) => openColumns(pool, memory, createWork({ owner, turn })) };
}

function openColumns(pool: pg.Pool, memory: PartMemory, work: Work): ColumnReader {
  return {
    work,
    async read({ siteId, days, needs }, onPart, onEnd) {
      const groups = groupParts(await readStoredSizes(pool, { siteId, ...days }, needs));
      const load = (group: readonly StoredSize[] = []) => {
        const loading = memory.load(siteId, group, { needs, work });
        // Awaited later, or never when the reader gives up.
        loading.catch(() => undefined);
        return loading;
      };
      let next = load(groups[0]);
      const handOver = async (part: PartOfDay) => {
        await onPart(part);
        await work.rest();
      };
      let made: string | undefined;
      for (const [at, group] of groups.entries()) {
        const parts = await next;
        next = load(groups[at + 1]);
        for (const [index, { day, version, part: number, isLast }] of group.entries()) {
          const part = parts[index];
          if (day === made) continue;
          if (part) await handOver({ day, part });
          else if (number) throw tooLong("The day changed while it was read");
          else {
            // Nobody has stored the day, or somebody stored it anew meanwhile.
            made = day;
            await memory.make({ siteId, day }, { version, needs }, handOver);
          }
          if (isLast || made === day) await onEnd?.(day);
        }
      }
    },
  };
}

/** Reads parts from memory, from the store, or from events. */
class PartMemory {
  private readonly kept: LRUCache<string, Kept>;

  constructor(
    private readonly pool: pg.Pool,
    maxBytes: number,
  ) {
    this.kept = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ parts }) => 1_000 + parts.reduce((sum, part) => sum + sizeOf(part), 0),
    });
  }

  /** Stored parts in the order of the group. Those that nobody stored, or of another version, are undefined. */
  async load(
    siteId: string,
    group: readonly StoredSize[],
    { needs, work }: { needs: PartNeeds; work: Work },
  ): Promise<(DayPart | undefined)[]> {
    const keyOf = ({ day, part }: Pick<StoredKey, "day" | "part">) => `${siteId} ${day} ${part}`;
    const found = new Map<string, DayPart>();
    const missing: StoredKey[] = [];
    for (const { day, version, part } of group) {
      if (part === null) continue;
      const [stored] = this.find(keyOf({ day, part }), version, needs)?.parts ?? [];
      if (stored) found.set(keyOf({ day, part }), stored);
      else missing.push({ day, part, version });
    }
    const rows = await readStoredParts(this.pool, { siteId, wanted: missing, needs });
    for (const { day, part, version, ...blocks } of rows) {
      const read = await readPart(blocks, work);
      found.set(keyOf({ day, part }), read);
      this.kept.set(keyOf({ day, part }), { version, parts: [read], madeAt: 0, makingMs: 0 });
    }
    return group.map(({ day, part }) => (part === null ? undefined : found.get(keyOf({ day, part }))));
  }

  private find(key: string, version: string, needs: PartNeeds): Kept | undefined {
    const entry = this.kept.get(key);
    if (!entry?.parts.every((part) => hasNeeds(part, needs))) return undefined;
    const isRecent = entry.makingMs > slowMs && performance.now() - entry.madeAt < 10 * entry.makingMs;
    return entry.version === version || isRecent ? entry : undefined;
  }

  /** Hands over a day's parts, made from its events one at a time, and keeps them where there is room. */
  async make(
    { siteId, day }: SiteDay,
    { version, needs }: { version: string; needs: PartNeeds },
    onPart: (part: PartOfDay) => Promise<void>,
  ): Promise<void> {
    const key = `${siteId} ${day}`;
    const there = this.find(key, version, needs);
    if (there) {
      for (const part of there.parts) await onPart({ day, part });
      return;
    }
    const madeAt = performance.now();
    await readDay(this.pool, { siteId, day }, needs, async (made, _client, present) => {
      const parts: DayPart[] = [];
      let countingMs = 0;
      let isKept = true;
      for await (const part of made) {
        if (isKept) parts.push(part);
        // Unfinished, it answers nobody, but has its room.
        isKept &&= this.kept.set(key, { version: "", parts: [...parts], madeAt, makingMs: 0 }).has(key);
        if (!isKept) parts.length = 0;
        const before = performance.now();
        await onPart({ day, part });
        countingMs += performance.now() - before;
      }
      const makingMs = performance.now() - madeAt - countingMs;
      if (isKept) this.kept.set(key, { version: present, parts, madeAt, makingMs });
    });
  }
}

/** Parts in groups of bounded bytes. A day that must be made has a group of its own. */
function groupParts(sizes: readonly StoredSize[]): (StoredSize & { isLast: boolean })[][] {
  const groups: (StoredSize & { isLast: boolean })[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const [index, size] of sizes.entries()) {
    bytes += size.part === null ? Number.POSITIVE_INFINITY : size.bytes;
    if (bytes > groupBytes) {
      groups.push([]);
      bytes = size.part === null ? Number.POSITIVE_INFINITY : size.bytes;
    }
    groups.at(-1)?.push({ ...size, isLast: sizes[index + 1]?.day !== size.day });
  }
  return groups;
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
  needs: PartNeeds,
  work: (parts: AsyncGenerator<DayPart>, client: pg.ClientBase, version: string) => Promise<Result>,
): Promise<Result> {
  return withConnection(pool, (client) =>
    inTransaction(client, async () => {
      await client.query(oneMoment);
      const { siteId, day } = siteDay;
      const versions = await readVersions(client, { siteId, first: day, last: day });
      const version = versions.get(day) ?? "";
      const { visits, events } = await openDay(client, siteDay, needs);
      return work(collectParts(visits, events, { needs }), client, version);
    }),
  );
}
