import { type ListName, listNames, lists, visitDimensionOf } from "@waymark/lists";
import type pg from "pg";
import type { DayColumns } from "./columns/day-columns.js";
import type { FigureMemory } from "./figure-memory.js";
import type { Filter } from "./filters/filter.js";
import { readFilteredFigures } from "./filters/read-filtered.js";
import { type ListAnswer, type ListRow, toListAnswer, toListRows } from "./list-rows.js";
import { type Metric, toMetrics } from "./metrics.js";
import { type AskedRange, type Days, previousDays, type ResolvedRange } from "./range.js";
import { type Interval, type SeriesPoint, toSeries } from "./series.js";
import {
  type FigureRow,
  noSums,
  readEventDays,
  readFigures,
  readVisitsDay,
  type Sums,
  sumUp,
} from "./statistics.query.js";

/** Filters, one at least, and the columns that they read. */
export interface Filtering {
  readonly filters: readonly Filter[];
  readonly columns: DayColumns;
}

interface StatisticsQuery {
  siteId: string;
  range: ResolvedRange;
  /** Lists beside those of the contract. */
  lists: readonly ListName[];
  /** Rows of each list, 1 to 1,000; `(other)` comes beside them. */
  limit: number;
  /** Of the series; none without it. */
  interval?: Interval | undefined;
  withPrevious: boolean;
  metrics: readonly Metric[];
  /** Counts the visits that match; without it all page views. */
  filtering?: Filtering | undefined;
  /** Answers without reading unchanged days again. */
  memory?: FigureMemory | undefined;
}

type Totals = { pageviews: number; uniqueVisitors: number } & Partial<Record<Metric, number>>;

/** A site's statistics as the API answers them. */
export type Statistics = AskedRange &
  Totals &
  Partial<Record<ListName, ListAnswer>> & {
    series?: SeriesPoint[];
    previous?: { from: string; to: string } & Totals;
    /** The asked days with what the answer needs beside totals, where not all have it; null for none. */
    coverage?: { from: string | null; to: string | null };
  };

/** Reads a site's totals and lists. Visitors of several days are the sum of the daily visitors. */
export async function readStatistics(pool: pg.Pool, query: StatisticsQuery): Promise<Statistics> {
  const { interval, metrics } = query;
  const { asked, ...days } = query.range;
  const previous = query.withPrevious ? previousDays(days) : undefined;
  const names = listNames.filter((name) => lists[name].isInContract || query.lists.includes(name));
  const [withVisits, withHours] = [metrics.length > 0, interval === "hour"];
  const rows = await readRows(pool, query, {
    ...days,
    totalsFrom: (previous ?? days).first,
    lists: names,
    withHours,
  });
  const coverage = query.filtering
    ? await readEventDays(pool, { siteId: query.siteId, ...days })
    : withVisits || withHours
      ? await readVisitCoverage(pool, days)
      : undefined;
  return {
    ...asked,
    ...sumTotals(days, rows, metrics),
    ...Object.fromEntries(names.map((name) => [name, toListAnswer(lists[name], rows, metrics)])),
    ...(interval && { series: toSeries(interval, days, rows, metrics) }),
    ...(previous && { previous: { from: previous.first, to: previous.last, ...sumTotals(previous, rows, metrics) } }),
    ...(coverage && { coverage }),
  };
}

type RowsQuery = Pick<StatisticsQuery, "siteId" | "limit" | "metrics" | "filtering" | "memory">;

function readRows(
  pool: pg.Pool,
  { siteId, limit, metrics, filtering, memory }: RowsQuery,
  asked: Days & { totalsFrom: string; lists: readonly ListName[]; withHours: boolean },
): Promise<FigureRow[]> {
  const withVisits = metrics.length > 0;
  if (!filtering) {
    const query = { siteId, limit, withVisits, ...asked, lists: asked.lists.map((name) => lists[name]) };
    return memory ? memory.read(query) : readFigures(pool, query);
  }
  return readFilteredFigures(filtering.columns, {
    ...{ siteId, limit, ...asked, filters: filtering.filters },
    dimensionOf: (list) => (withVisits ? visitDimensionOf(list) : list.dimension),
  });
}

/** Reads one list of a site. */
export async function readList(
  pool: pg.Pool,
  query: { range: Days; list: ListName; metrics?: readonly Metric[] } & Omit<RowsQuery, "metrics">,
): Promise<ListRow[]> {
  const { metrics = [], list } = query;
  const { first, last } = query.range;
  const asked = { first, last, totalsFrom: first, lists: [list], withHours: false };
  return toListRows(lists[list], await readRows(pool, { ...query, metrics }, asked), metrics);
}

function sumTotals({ first, last }: Days, rows: readonly FigureRow[], metrics: readonly Metric[]): Totals {
  const sums: Sums = noSums();
  for (const row of rows) {
    if (row.dimension === "total" && row.value >= first && row.value <= last) sumUp(sums, row);
  }
  return { pageviews: sums.pageviews, uniqueVisitors: sums.visitors, ...toMetrics(metrics, sums) };
}

/** The asked days with countable visits; undefined if all have them. */
export async function readVisitCoverage(pool: pg.Pool, days: Days): Promise<Statistics["coverage"]> {
  return coverageOf(days, await readVisitsDay(pool));
}

/** @param visitsDay the first day with countable visits; null for all */
function coverageOf({ first, last }: Days, visitsDay: string | null): Statistics["coverage"] {
  if (visitsDay === null || visitsDay <= first) return undefined;
  return visitsDay > last ? { from: null, to: null } : { from: visitsDay, to: last };
}
