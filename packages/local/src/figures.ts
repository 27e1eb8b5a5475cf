/** Lines of a table with aligned columns: the first ones to the left, others to the right. */
export function formatTable(rows: readonly (readonly string[])[], texts = 1): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cellOf = (cell: string, column: number) =>
    column < texts ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map((row) => `${row.map(cellOf).join("  ").trimEnd()}\n`).join("");
}

export function percentile(values: readonly number[], share: number): number {
  return Float64Array.from(values).sort()[Math.round((values.length - 1) * share)] ?? 0;
}
