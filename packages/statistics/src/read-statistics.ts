import { type ListName, listNames, lists } from "@waymark/lists";
import type pg from "pg";
import { type ListAnswer, type ListRow, toListAnswer, toListRows } from "./list-rows.js";
import { type AskedRange, type Days, listDays, previousDays, type ResolvedRange } from "./range.js";
import { type FigureRow, readFigures } from "./statistics.query.js";

interface StatisticsQuery {
  siteId: string;
  range: ResolvedRange;
  /** Lists beside those of the contract. */
  lists: readonly ListName[];
  /** Rows of each list, 1 to 1,000; `(other)` comes beside them. */
  limit: number;
  withSeries: boolean;
  withPrevious: boolean;
}

interface Totals {
  pageviews: number;
  uniqueVisitors: number;
}

/** A site's statistics as the API answers them. */
export type Statistics = AskedRange &
  Totals &
  Partial<Record<ListName, ListAnswer>> & {
    series?: { day: string; visitors: number; pageviews: number }[];
    previous?: { from: string; to: string } & Totals;
  };

/** Reads a site's totals and lists. Visitors of several days are the sum of the daily visitors. */
export async function readStatistics(pool: pg.Pool, query: StatisticsQuery): Promise<Statistics> {
  const { asked, ...days } = query.range;
  const previous = query.withPrevious ? previousDays(days) : undefined;
  const names = listNames.filter((name) => lists[name].isInContract || query.lists.includes(name));
  const rows = await readFigures(pool, {
    siteId: query.siteId,
    ...days,
    totalsFrom: (previous ?? days).first,
    lists: names.map((name) => lists[name]),
    limit: query.limit,
  });
  return {
    ...asked,
    ...sumTotals(days, rows),
    ...Object.fromEntries(names.map((name) => [name, toListAnswer(lists[name], rows)])),
    ...(query.withSeries && { series: toSeries(days, rows) }),
    ...(previous && { previous: { from: previous.first, to: previous.last, ...sumTotals(previous, rows) } }),
  };
}

/** Reads one list of a site. */
export async function readList(
  pool: pg.Pool,
  query: { siteId: string; range: Days; list: ListName; limit: number },
): Promise<ListRow[]> {
  const { siteId, limit } = query;
  const { first, last } = query.range;
  const list = lists[query.list];
  const rows = await readFigures(pool, { siteId, first, last, totalsFrom: first, lists: [list], limit });
  return toListRows(list, rows);
}

function sumTotals({ first, last }: Days, rows: readonly FigureRow[]): Totals {
  const totals = { pageviews: 0, uniqueVisitors: 0 };
  for (const { dimension, value, visitors, pageviews } of rows) {
    if (dimension !== "total" || value < first || value > last) continue;
    totals.pageviews += pageviews;
    totals.uniqueVisitors += visitors;
  }
  return totals;
}

function toSeries(days: Days, rows: readonly FigureRow[]) {
  const totals = new Map(rows.filter(({ dimension }) => dimension === "total").map((row) => [row.value, row]));
  return listDays(days).map((day) => {
    const { visitors = 0, pageviews = 0 } = totals.get(day) ?? {};
    return { day, visitors, pageviews };
  });
}
