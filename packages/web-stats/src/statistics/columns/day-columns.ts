import { Buffer } from "node:buffer";
import { inTransaction, withConnection } from "@waymark/database";
import { createTurns } from "@waymark/service/http";
import { LRUCache } from "lru-cache";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import type { Days } from "../range.js";
import { readDayTotals, versionSql } from "../statistics.query.js";
import { createWork, tooLong, type Work } from "../work.js";
import { collectParts, readDayRows, type SiteDay } from "./collect-part.js";
import type { DayPart, PartNeeds } from "./day-part.js";
import { hasNeeds, type ReadBlocks, readPart, sizeOf } from "./part-blocks.js";

export interface StoredKey {
  readonly day: string;
  readonly version: string;
  readonly part: number;
}

interface StoredPart extends StoredKey, ReadBlocks {}

/** A part of a day with events; `part` is null, and the only one, where the present version is not stored. */
interface StoredSize {
  readonly day: string;
  readonly version: string;
  readonly part: number | null;
  readonly bytes: number;
}

/** A range of `daily_stat_pkey`, and one of `day_part_pkey` for each day; sizes are known without the bytes. */
const readSizesSql = ({ times, details }: PartNeeds) => `
  SELECT present.day::text, present.version, part, coalesce(octet_length(visits) + octet_length(pages)
    ${times ? "+ octet_length(times)" : ""} ${details ? "+ octet_length(details)" : ""}, 0) AS bytes
  FROM (
    SELECT day, ${versionSql} AS version FROM daily_stat
    WHERE site_id = $1 AND dimension = 'total' AND value = '' AND day BETWEEN $2 AND $3
  ) AS present
  LEFT JOIN day_part ON day_part.site_id = $1 AND day_part.day = present.day AND day_part.version = present.version
  ORDER BY present.day, part`;

export async function readStoredSizes(
  pool: pg.Pool,
  { siteId, first, last }: { siteId: string } & Days,
  needs: PartNeeds,
): Promise<StoredSize[]> {
  const { rows } = await pool.query<StoredSize>(readSizesSql(needs), [siteId, first, last]);
  return rows;
}

/**
 * Stored parts, each by `day_part_pkey`; blocks that nobody needs stay where they are. COPY sends bytes as they are, where a
 * statement would send text of twice the length.
 */
const readPartsSql = ({ times, details }: PartNeeds, siteId: string, keys: readonly string[]) => `
  COPY (
    SELECT day::text, part::text, version, visits, pages, ${times ? "times" : "NULL"}, ${details ? "details" : "NULL"}
    FROM (VALUES ${keys.join(", ")}) AS wanted (day, part, version) JOIN day_part USING (day, part, version)
    WHERE site_id = ${pg.escapeLiteral(siteId)}
    ORDER BY day, part
  ) TO STDOUT (FORMAT binary)`;

/** Reads stored parts, in order. Those of another version are left out. */
export async function readStoredParts(
  database: pg.Pool | pg.ClientBase,
  { siteId, wanted, needs }: { siteId: string; wanted: readonly StoredKey[]; needs: PartNeeds },
): Promise<StoredPart[]> {
  if (wanted.length === 0) return [];
  const keys = wanted.map(({ day, part, version }) => `('${day}'::date, ${part}, ${pg.escapeLiteral(version)})`);
  const read = (client: pg.ClientBase) => copy(client, readPartsSql(needs, siteId, keys));
  const sent = await (database instanceof pg.Pool ? withConnection(database, read) : read(database));
  return readCopiedRows(sent).map(([day, part, version, visits, pages, times = null, details = null]) => {
    if (!day || !version || !visits || !pages) throw new Error("A stored part lacks a column");
    return { day: String(day), part: Number(part), version: String(version), visits, pages, times, details };
  });
}

async function copy(client: pg.ClientBase, sql: string): Promise<Buffer> {
  const query: ReturnType<typeof copyTo> & { callback?: () => void } = copyTo(sql);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(query)) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } finally {
    // The driver's timeout ends with this call, which a stream never makes.
    query.callback?.();
  }
}

/** Bytes of the signature, the flags and the length of an extension, before the rows (Postgres documentation, COPY). */
const copyHeaderBytes = 19;

/** The values of rows in COPY's binary form: the number of columns in 16 bits, before each value its length in 32, -1 for NULL. */
function readCopiedRows(sent: Buffer): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = copyHeaderBytes;
  for (let columns = sent.readInt16BE(at); columns >= 0; columns = sent.readInt16BE(at)) {
    at += 2;
    const row: (Buffer | null)[] = [];
    for (let column = 0; column < columns; column++) {
      const length = sent.readInt32BE(at);
      at += 4;
      row.push(length < 0 ? null : sent.subarray(at, at + length));
      at += Math.max(0, length);
    }
    rows.push(row);
  }
  return rows;
}

export type DayColumns = ReturnType<typeof createDayColumns>;

interface PartOfDay {
  readonly day: string;
  readonly part: DayPart;
}

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
export function createDayColumns({ pool, maxBytes }: { pool: pg.Pool; maxBytes: number }) {
  const memory = new PartMemory(pool, maxBytes);
  const turn = createTurns();
  return {
    /** For one request, whose work it counts. @param owner its account */
    open: (owner: string) => openColumns(pool, memory, createWork({ owner, turn })),
  };
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

/** One snapshot for visits and events. The planner would read a month for a day; the day is sorted in memory. */
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
      const [{ version } = { version: "" }] = await readDayTotals(client, { siteId, first: day, last: day });
      return work(collectParts(readDayRows(client, siteDay, needs), { needs }), client, version);
    }),
  );
}
