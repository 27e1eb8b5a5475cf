import { stringify } from "csv-stringify/sync";
import { columnsOf, type ListRow, type StatList } from "./stat-lists.js";

/** As RFC 4180, 3 and RFC 7111 write it. */
export const csvType = "text/csv; charset=utf-8; header=present";

/**
 * A list as CSV (RFC 4180), with a header row. Values come from strangers' browsers, and spreadsheets take a text that
 * begins with `=`, `+`, `-`, `@` or a control character for a formula: such a value gets an apostrophe before it (OWASP,
 * "CSV Injection"). All text is quoted, so that a spreadsheet that splits at semicolons makes no cell within a value.
 */
export function writeCsv(list: StatList, rows: readonly ListRow[]): string {
  return stringify([...rows], {
    header: true,
    columns: columnsOf(list),
    record_delimiter: "windows",
    quote_record_delimiter: true,
    quoted_string: true,
    escape_formulas: true,
    // The option leaves out the line feed.
    cast: { string: (value) => (value.startsWith("\n") ? `'${value}` : value) },
  });
}
