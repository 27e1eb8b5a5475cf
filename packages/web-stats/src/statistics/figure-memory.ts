import { LRUCache } from "lru-cache";
import type pg from "pg";
import { dimensionOf, type StatisticsList } from "../lists/lists.js";
import { topOf } from "./list-rows.js";
import { addDays, type Days } from "./range.js";
import {
  type FigureRow,
  type FiguresQuery,
  maxListBytes,
  noSums,
  readDayTotals,
  readFigures,
  readHourFigures,
  readListSums,
  rowBytesOf,
  type Sums,
  sumUp,
} from "./statistics.query.js";

/** Values of lists by dimension, with their sums over some days; undefined for more values than are held. */
type ListSums = ReadonlyMap<string, ReadonlyMap<string, Sums>> | undefined;

interface Kept {
  readonly version: string;
  readonly sums: ListSums;
}

export type FigureMemory = ReturnType<typeof createFigureMemory>;

/** Values of one reading; a site with more is read as a whole each time. */
const maxValues = 50_000;

/**
 * Keeps the sums of lists over the days before the last of a range, and over the last day. The totals of days tell whether they have
 * changed, since each event changes one; so does the number of times that a rebuild mended them.
 * @param maxKept values kept in all; the least recently used make room
 */
export function createFigureMemory({ pool, maxKept }: { pool: pg.Pool; maxKept: number }) {
  const kept = new LRUCache<string, Kept>({
    maxSize: maxKept,
    sizeCalculation: ({ sums }) => 1 + [...(sums?.values() ?? [])].reduce((all, { size }) => all + size, 0),
  });

  async function readSums(query: FiguresQuery, days: Days, version: string): Promise<ListSums> {
    const dimensions = query.lists.map((list) => dimensionOf(list, query.withVisits));
    const key = [query.siteId, days.first, days.last, ...dimensions].join(" ");
    const there = kept.get(key);
    if (there?.version === version) return there.sums;
    const sums = await readListSums(pool, { siteId: query.siteId, ...days, dimensions, maxValues });
    kept.set(key, { version, sums });
    return sums;
  }

  return {
    async read(query: FiguresQuery): Promise<FigureRow[]> {
      const { siteId, first, last, totalsFrom, withHours } = query;
      const totals = await readDayTotals(pool, { siteId, first: totalsFrom, last });
      const versionOf = (from: string, to: string) =>
        totals.flatMap(({ value, version }) => (value >= from && value <= to ? [version] : [])).join();
      const before = addDays(last, -1);
      const parts: ListSums[] = [await readSums(query, { first: last, last }, versionOf(last, last))];
      if (first < last) parts.push(await readSums(query, { first, last: before }, versionOf(first, before)));
      if (parts.includes(undefined)) return readFigures(pool, query);
      const rows: FigureRow[] = withHours ? await readHourFigures(pool, { siteId, first, last }) : [];
      for (const list of query.lists) rows.push(...topRows(list, query, parts));
      return [...rows, ...totals];
    },
  };
}

function topRows(list: StatisticsList, query: FiguresQuery, parts: readonly ListSums[]): FigureRow[] {
  const dimension = dimensionOf(list, query.withVisits);
  const sums = new Map<string, Sums>();
  for (const part of parts) {
    for (const [value, row] of part?.get(dimension) ?? []) {
      const sum = sums.get(value) ?? noSums();
      sumUp(sum, row);
      sums.set(value, sum);
    }
  }
  for (const [value, { visitors, pageviews, visits }] of sums) {
    if (visitors === 0 && pageviews === 0 && !(query.withVisits && visits !== 0)) sums.delete(value);
  }
  const maxBytes = Math.floor(maxListBytes / query.lists.length);
  const top = topOf(sums, { list, limit: query.limit, maxBytes, rowBytes: rowBytesOf(query) });
  return top.map(([value, row]) => ({ dimension, value, ...row }));
}
