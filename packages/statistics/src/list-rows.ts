import type { StatisticsList } from "@waymark/lists";
import type { FigureRow } from "./statistics.query.js";

/** A row of a list: its value under the list's key, `visitors` and, when the list shows them, `pageviews`. */
export type ListRow = Record<string, string | number>;

/** A list in a JSON answer: its rows, or for a list with few fixed values an object by value. */
export type ListAnswer = ListRow[] | Record<string, ListRow>;

/** The members of a list's rows in order; a CSV has them as columns. */
export function columnsOf({ key, showsPageviews }: StatisticsList): string[] {
  return [key, "visitors", ...(showsPageviews ? ["pageviews"] : [])];
}

export function toListRows({ dimension, key, showsPageviews }: StatisticsList, rows: readonly FigureRow[]): ListRow[] {
  return rows
    .filter((row) => row.dimension === dimension)
    .map(({ value, visitors, pageviews }) => ({ [key]: value, visitors, ...(showsPageviews && { pageviews }) }));
}

export function toListAnswer(list: StatisticsList, rows: readonly FigureRow[]): ListAnswer {
  const listRows = toListRows(list, rows);
  if (!list.isWhole) return listRows;
  return Object.fromEntries(listRows.map(({ [list.key]: value, ...figures }) => [value, figures]));
}
