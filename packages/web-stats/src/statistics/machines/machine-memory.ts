import { LRUCache } from "lru-cache";
import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import { compareCodePoints } from "../list-rows.js";
import { addDays, type Days } from "../range.js";
import { firstOf, type Work } from "../work.js";
import {
  maxReaders,
  type PageFigures,
  purposesOf,
  type ReadFigures,
  readMachineDays,
  readMachineSums,
  readPairs,
} from "./machine-figures.query.js";

/** Requests by machine and path. */
type Pairs = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface Kept {
  readonly version: string;
  /** Undefined for more than is kept of a reading. */
  readonly pairs: Pairs | undefined;
  readonly bytes: number;
}

/** Of a pair, beside its path. */
const pairBytes = 100;

interface Asked extends Days {
  readonly siteId: string;
  readonly referred: ReadonlyMap<string, number>;
  readonly limit: number;
}

export type MachineMemory = ReturnType<typeof createMachineMemory>;

/**
 * Keeps the requests of pairs of machine and page over the days before the last of a range, and over the last day. Each request
 * adds to the sum of its day, and none is taken away, so these sums tell whether days have changed.
 * @param maxBytes in all; the least recently used days make room
 */
export function createMachineMemory({ pool, maxBytes }: { pool: pg.Pool; maxBytes: number }) {
  const kept = new LRUCache<string, Kept>({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes });

  async function readPart(siteId: string, days: Days, version: string, work: Work): Promise<Pairs | undefined> {
    const key = `${siteId} ${days.first} ${days.last}`;
    const there = kept.get(key);
    if (there?.version === version) return there.pairs;
    const rows = await readPairs(pool, { siteId, ...days });
    const pairs = new Map<string, Map<string, number>>();
    let bytes = pairBytes;
    for (const { machine, path, requests } of rows ?? []) {
      const paths = pairs.get(machine) ?? new Map<string, number>();
      pairs.set(machine, paths);
      paths.set(path, requests);
      bytes += pairBytes + path.length;
      if (work.spend(10)) await work.rest();
    }
    kept.set(key, { version, pairs: rows && pairs, bytes });
    return rows && pairs;
  }

  /** @returns undefined for days with too many pairs, which the database adds up */
  return async (asked: Asked, work: Work): Promise<ReadFigures | undefined> => {
    const { siteId, first, last } = asked;
    const sums = await readMachineDays(pool, { siteId, first, last });
    const versionOf = (days: Days) =>
      sums.flatMap(({ day, requests }) => (day >= days.first && day <= days.last ? `${day} ${requests}` : [])).join();
    const before = { first, last: addDays(last, -1) };
    const parts: Pairs[] = [];
    for (const days of first < last ? [before, { first: last, last }] : [{ first, last }]) {
      const pairs = await readPart(siteId, days, versionOf(days), work);
      if (!pairs) return undefined;
      parts.push(pairs);
    }
    return sumUp(parts, { ...asked, machines: await readMachineSums(pool, asked), work });
  };
}

type ReadPage = { -readonly [Name in Exclude<keyof PageFigures, "machines">]: PageFigures[Name] };

type Machines = Awaited<ReturnType<typeof readMachineSums>>;

async function sumUp(
  parts: readonly Pairs[],
  { referred, limit, machines, work }: Asked & { machines: Machines; work: Work },
): Promise<ReadFigures> {
  const pages = new Map<string, ReadPage>();
  const pageOf = (path: string) => {
    const page = pages.get(path) ?? { path, crawled: 0, answered: 0, referred: referred.get(path) ?? 0 };
    pages.set(path, page);
    return page;
  };
  for (const path of referred.keys()) pageOf(path);
  const counted: ReadFigures["machines"][number][] = [];
  for (const machine of machines) {
    const figure = (["crawled", "answered"] as const).find((name) =>
      purposesOf[name].some((of) => of === machine.purpose),
    );
    const paths = new Set<string>();
    for (const part of parts) {
      for (const [path, requests] of part.get(machine.machine) ?? []) {
        paths.add(path);
        if (figure) pageOf(path)[figure] += requests;
        if (work.spend(20)) await work.rest();
      }
    }
    paths.delete(otherValue);
    counted.push({ ...machine, pages: paths.size });
  }
  const other = pages.get(otherValue);
  pages.delete(otherValue);
  const read = ({ crawled, answered }: ReadPage) => crawled + answered;
  const compare = (a: ReadPage, b: ReadPage) =>
    read(b) - read(a) || b.referred - a.referred || compareCodePoints(a.path, b.path);
  const top = await firstOf(pages.values(), { compare, limit, work });
  const shown: PageFigures[] = [];
  for (const page of other ? [...top, other] : top) {
    shown.push({ ...page, machines: readersOf(parts, machines, page.path) });
    if (work.spend(100 * machines.length)) await work.rest();
  }
  return { machines: counted, pages: shown };
}

function readersOf(parts: readonly Pairs[], machines: Machines, path: string): PageFigures["machines"] {
  const readers = machines.flatMap(({ machine: name }) => {
    const requests = parts.reduce((sum, part) => sum + (part.get(name)?.get(path) ?? 0), 0);
    return requests === 0 ? [] : [{ name, requests }];
  });
  readers.sort((a, b) => b.requests - a.requests || compareCodePoints(a.name, b.name));
  return readers.slice(0, maxReaders);
}
