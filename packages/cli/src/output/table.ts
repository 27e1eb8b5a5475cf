import stringWidth from "string-width";
import { fit, printable } from "./terminal-text.js";

/** Rows under the titles of their columns, aligned; absent values show as `-`. */
export function formatTable<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  const cells = [columns.map((column) => column.replaceAll("_", " ").toUpperCase()), ...rows.map(toCells)];
  const widths = columns.map((_, index) =>
    cells.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? "")), 0),
  );
  return cells
    .map((row) =>
      row
        .map((cell, index) => fit(cell, widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");

  function toCells(row: Row): string[] {
    return columns.map((column) => toCell(row[column]));
  }
}

/** The fields of one thing, a line each. */
export function formatFields(fields: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`);
  return lines.join("\n");
}

function toCell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  // A name with a line feed or an escape code in it must not move the reader's cursor.
  return printable(String(value));
}
