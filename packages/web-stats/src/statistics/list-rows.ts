import { lists, type StatisticsList, visitDimensionOf } from "../lists/lists.js";
import type { EngagementOf } from "./engagement.query.js";
import { type AskedMetric, isOfVisits, type Metric, toMetrics } from "./metrics.js";
import type { FigureRow } from "./statistics.query.js";

/** A row of a list: its value under the list's key, `visitors`, `pageviews` when the list shows them, and metrics. */
export type ListRow = Record<string, string | number | null>;

/** A list in a JSON answer: its rows, or for a list with few fixed values an object by value. */
export type ListAnswer = ListRow[] | Record<string, ListRow>;

/** The members of a list's rows in order; a CSV has them as columns. */
export function columnsOf(list: StatisticsList, asked: readonly AskedMetric[]): string[] {
  const metrics = list === lists.topPages ? asked : asked.filter(isOfVisits);
  return [list.key, "visitors", ...(list.showsPageviews ? ["pageviews"] : []), ...metrics];
}

export function toListRows(
  list: StatisticsList,
  rows: readonly FigureRow[],
  metrics: readonly Metric[],
  engagementOf?: EngagementOf,
): ListRow[] {
  const { key, showsPageviews } = list;
  const dimension = metrics.length > 0 ? visitDimensionOf(list) : list.dimension;
  return rows
    .filter((row) => row.dimension === dimension)
    .map((row) => ({
      [key]: row.value,
      visitors: row.visitors,
      ...(showsPageviews && { pageviews: row.pageviews }),
      ...toMetrics(metrics, row),
      ...engagementOf?.(row.value),
    }));
}

export function toListAnswer(
  list: StatisticsList,
  rows: readonly FigureRow[],
  metrics: readonly Metric[],
  engagementOf?: EngagementOf,
): ListAnswer {
  const listRows = toListRows(list, rows, metrics, engagementOf);
  if (!list.isWhole) return listRows;
  return Object.fromEntries(listRows.map(({ [list.key]: value, ...figures }) => [value, figures]));
}
