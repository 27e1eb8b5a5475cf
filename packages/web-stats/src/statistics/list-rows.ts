import { Buffer } from "node:buffer";
import { stringify } from "csv-stringify/sync";
import { dimensionOf, type ListName, lists, otherValue, type StatisticsList } from "../lists/lists.js";
import type { EngagementOf } from "./engagement.query.js";
import { type AskedMetric, isOfVisits, type Metric, toMetrics } from "./metrics.js";
import type { FigureRow, Sums } from "./statistics.query.js";

/** A row of a list: its value under the list's key, `visitors`, `pageviews` when the list shows them, and metrics. */
export type ListRow = Record<string, string | number | null>;

/** A list in a JSON answer: its rows, or for a list with few fixed values an object by value. */
export type ListAnswer = ListRow[] | Record<string, ListRow>;

function columnsOf(list: StatisticsList, asked: readonly AskedMetric[]): string[] {
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
  const dimension = dimensionOf(list, metrics.length > 0);
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

interface Bounds {
  list: StatisticsList;
  /** Rows at most, whole lists excepted. */
  limit: number;
  /** Bytes of JSON at most, whole lists excepted. */
  maxBytes: number;
  rowBytes: number;
}

/** A list's rows as `readFigures` orders and bounds them: most visitors first, and last `(other)`, unranked. */
export function topOf(sums: ReadonlyMap<string, Sums>, { list, limit, maxBytes, rowBytes }: Bounds): [string, Sums][] {
  const rest = sums.get(otherValue);
  const ordered = [...sums].filter(([value]) => value !== otherValue).sort(orderOf(list));
  let bytes = 0;
  const end = ordered.findIndex(([value], index) => {
    bytes += Buffer.byteLength(JSON.stringify(value)) + rowBytes;
    return !list.isWhole && (index >= limit || bytes > maxBytes);
  });
  const shown = end < 0 ? ordered : ordered.slice(0, end);
  return rest ? [...shown, [otherValue, rest]] : shown;
}

export function orderOf(list: StatisticsList) {
  const pageviews = ({ pageviews }: Sums) => (list.showsPageviews ? pageviews : 0);
  return ([a, one]: [string, Sums], [b, other]: [string, Sums]) =>
    other.visitors - one.visitors || pageviews(other) - pageviews(one) || compareCodePoints(a, b);
}

/** The order of Postgres's collation "C": by code points, where JavaScript's is by units of UTF-16. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rankOf(one) - rankOf(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10_000 : unit;
}

/** The content type of `writeCsv` (RFC 4180, 3 and RFC 7111). */
export const csvType = "text/csv; charset=utf-8; header=present";

/**
 * Writes a list as CSV (RFC 4180) with a header row. Visitors' browsers choose the values, and a spreadsheet takes a text that
 * begins with `=`, `+`, `-`, `@` or a control character for a formula: such a value gets an apostrophe in front (OWASP,
 * "CSV Injection"). All text is quoted, so a spreadsheet that splits at semicolons makes no cell within a value.
 */
export function writeCsv(list: ListName, rows: readonly ListRow[], metrics: readonly AskedMetric[] = []): string {
  return writeTable(columnsOf(lists[list], metrics), rows);
}

/** A table, or its rows alone, for one that is written in parts. */
export function writeTable(columns: readonly string[], rows: readonly object[], header = true): string {
  return stringify([...rows], {
    header,
    columns: [...columns],
    record_delimiter: "windows",
    quote_record_delimiter: true,
    quoted_string: true,
    escape_formulas: true,
    // `escape_formulas` leaves out the line feed.
    cast: {
      string: (value) => (value.startsWith("\n") ? `'${value}` : value),
      boolean: String,
    },
  });
}
