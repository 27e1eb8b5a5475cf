import type pg from "pg";
import { type ListName, listNames, lists } from "../lists/lists.js";
import type { ColumnReader } from "./columns/day-columns.js";
import { type EngagementOf, readEngagementOf } from "./engagement.query.js";
import type { FigureMemory } from "./figure-memory.js";
import type { Filter } from "./filters/filter.js";
import { readFilteredFigures } from "./filters/read-filtered.js";
import { type ListAnswer, type ListRow, toListAnswer, toListRows } from "./list-rows.js";
import {
  type AskedMetric,
  type EngagementMetric,
  isOfEngagement,
  isOfVisits,
  type Metric,
  toMetrics,
} from "./metrics.js";
import { type AskedRange, type Days, listDays, previousDays, type ResolvedRange } from "./range.js";
import {
  type Coverage,
  type FigureRow,
  noSums,
  readCoverage,
  readFigures,
  type Sums,
  sumUp,
} from "./statistics.query.js";

export const intervals = ["hour", "day", "week", "month"] as const;

type Interval = (typeof intervals)[number];

export const maxDaysByHour = 14;

/** A point's name under its interval, and its figures. */
type SeriesPoint = Partial<Record<Interval, string>> & { visitors: number; pageviews: number } & Partial<
    Record<Metric, number>
  >;

const hours = Array.from({ length: 24 }, (_, hour) => `T${String(hour).padStart(2, "0")}`);

/** The points that a day belongs to, in order. A week's and a month's point has the days of the range alone. */
export const pointsOf: Readonly<Record<Interval, (day: string) => readonly string[]>> = {
  hour: (day) => hours.map((hour) => `${day}${hour}:00:00Z`),
  day: (day) => [day],
  week: (day) => [mondayOf(day)],
  month: (day) => [day.slice(0, 7)],
};

function mondayOf(day: string): string {
  const date = new Date(day);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}

function toSeries(
  interval: Interval,
  days: Days,
  rows: readonly FigureRow[],
  metrics: readonly Metric[],
): SeriesPoint[] {
  const points = new Map(listDays(days).flatMap((day) => pointsOf[interval](day).map((point) => [point, noSums()])));
  const dimension = interval === "hour" ? "hour" : "total";
  for (const row of rows) {
    const day = row.value.slice(0, 10);
    if (row.dimension !== dimension || day < days.first || day > days.last) continue;
    const names = interval === "hour" ? [`${row.value}:00:00Z`] : pointsOf[interval](day);
    for (const name of names) sumUp(points.get(name), row);
  }
  return Array.from(points, ([name, sums]) => toPoint(interval, name, sums, metrics));
}

function toPoint(interval: Interval, name: string, sums: Sums, metrics: readonly Metric[]): SeriesPoint {
  const { visitors, pageviews } = sums;
  return { [interval]: name, visitors, pageviews, ...toMetrics(metrics, sums) };
}

export interface Filtering {
  readonly filters: readonly Filter[];
  readonly columns: ColumnReader;
}

interface StatisticsQuery {
  siteId: string;
  range: ResolvedRange;
  /** Lists beside those of the contract. */
  lists: readonly ListName[];
  /** Rows of each list, 1 to 1,000; `(other)` comes beside them. */
  limit: number;
  interval?: Interval | undefined;
  withPrevious: boolean;
  metrics: readonly AskedMetric[];
  /** Counts the visits that match; without it all page views. */
  filtering?: Filtering | undefined;
  /** Answers without reading unchanged days again. */
  memory?: FigureMemory | undefined;
}

type Totals = { pageviews: number; uniqueVisitors: number } & Partial<
  Record<Metric, number> & Record<EngagementMetric, number | null>
>;

interface Covered {
  /** The days with what the answer needs beside totals, where not all have it; null for none. */
  coverage?: Coverage;
}

export type Statistics = AskedRange &
  Totals &
  Covered &
  Partial<Record<ListName, ListAnswer>> & {
    series?: SeriesPoint[];
    previous?: { from: string; to: string } & Totals & Covered;
  };

/** Reads a site's totals and lists. Visitors of several days are the sum of the daily visitors. */
export async function readStatistics(pool: pg.Pool, query: StatisticsQuery): Promise<Statistics> {
  const { interval } = query;
  const metrics = query.metrics.filter(isOfVisits);
  const { asked, ...days } = query.range;
  const previous = query.withPrevious ? previousDays(days) : undefined;
  const names = listNames.filter((name) => lists[name].isInContract || query.lists.includes(name));
  const withHours = interval === "hour";
  const rows = await readRows(
    pool,
    { ...query, metrics },
    { ...days, totalsFrom: (previous ?? days).first, lists: names, withHours },
  );
  const engagementOf = await readPages(pool, query, { days, rows });
  return {
    ...asked,
    ...sumTotals(days, rows, metrics),
    ...engagementOf(null),
    ...Object.fromEntries(
      names.map((name) => [
        name,
        toListAnswer(lists[name], rows, metrics, name === "topPages" ? engagementOf : undefined),
      ]),
    ),
    ...(interval && { series: toSeries(interval, days, rows, metrics) }),
    ...(previous && {
      previous: {
        from: previous.first,
        to: previous.last,
        ...sumTotals(previous, rows, metrics),
        ...(await readPages(pool, query, { days: previous, rows: [] }))(null),
        ...(await readNeeded(pool, query, { days: previous, withHours: false })),
      },
    }),
    ...(await readNeeded(pool, query, { days, withHours })),
  };
}

async function readNeeded(
  pool: pg.Pool,
  { siteId, metrics, filtering }: Pick<StatisticsQuery, "siteId" | "metrics" | "filtering">,
  { days, withHours }: { days: Days; withHours: boolean },
): Promise<Pick<Statistics, "coverage">> {
  if (!filtering && metrics.length === 0 && !withHours) return {};
  const need = filtering || metrics.some(isOfEngagement) ? "events" : withHours ? "hours" : "visits";
  const coverage = await readCoverage(pool, { siteId, ...days, need });
  return coverage ? { coverage } : {};
}

function readPages(
  pool: pg.Pool,
  { siteId, metrics, filtering }: Pick<StatisticsQuery, "siteId" | "metrics" | "filtering">,
  { days, rows }: { days: Days; rows: readonly FigureRow[] },
): Promise<EngagementOf> {
  const paths = rows.filter(({ dimension }) => dimension === lists.topPages.dimension).map(({ value }) => value);
  return readEngagementOf(pool, { siteId, ...days, metrics, paths, filters: filtering?.filters ?? [] });
}

type RowsQuery = Pick<StatisticsQuery, "siteId" | "limit" | "filtering" | "memory"> & { metrics: readonly Metric[] };

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
    siteId,
    limit,
    ...asked,
    filters: filtering.filters,
    withVisits,
  });
}

export async function readList(
  pool: pg.Pool,
  query: { range: Days; list: ListName; metrics?: readonly AskedMetric[] } & Omit<RowsQuery, "metrics">,
): Promise<ListRow[]> {
  const { metrics: asked = [], list } = query;
  const metrics = asked.filter(isOfVisits);
  const { first, last } = query.range;
  const needed = { first, last, totalsFrom: first, lists: [list], withHours: false };
  const rows = await readRows(pool, { ...query, metrics }, needed);
  const engagementOf =
    list === "topPages"
      ? await readPages(pool, { ...query, metrics: asked }, { days: { first, last }, rows })
      : undefined;
  return toListRows(lists[list], rows, metrics, engagementOf);
}

function sumTotals({ first, last }: Days, rows: readonly FigureRow[], metrics: readonly Metric[]): Totals {
  const sums: Sums = noSums();
  for (const row of rows) {
    if (row.dimension === "total" && row.value >= first && row.value <= last) sumUp(sums, row);
  }
  return { pageviews: sums.pageviews, uniqueVisitors: sums.visitors, ...toMetrics(metrics, sums) };
}
