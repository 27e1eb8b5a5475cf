import { stringify } from "csv-stringify/sync";
import { type ListName, lists } from "../lists/lists.js";
import { columnsOf, type ListRow } from "./list-rows.js";
import type { AskedMetric } from "./metrics.js";

/** The content type of `writeCsv` (RFC 4180, 3 and RFC 7111). */
export const csvType = "text/csv; charset=utf-8; header=present";

/**
 * Writes a list as CSV (RFC 4180) with a header row. Visitors' browsers choose the values, and a spreadsheet takes a text that
 * begins with `=`, `+`, `-`, `@` or a control character for a formula: such a value gets an apostrophe in front (OWASP,
 * "CSV Injection"). All text is quoted, so a spreadsheet that splits at semicolons makes no cell within a value.
 */
export function writeCsv(list: ListName, rows: readonly ListRow[], metrics: readonly AskedMetric[] = []): string {
  return stringify([...rows], {
    header: true,
    columns: columnsOf(lists[list], metrics),
    record_delimiter: "windows",
    quote_record_delimiter: true,
    quoted_string: true,
    escape_formulas: true,
    // `escape_formulas` leaves out the line feed.
    cast: { string: (value) => (value.startsWith("\n") ? `'${value}` : value) },
  });
}
