import { formatTable } from "../load/table.js";
import type { DiskReport, Part } from "./measure-disk.js";

/** The figures as a text, bytes for each row. */
export function formatReport({ postgres, parts }: DiskReport): string {
  return [`Postgres ${postgres}; bytes for each row`, ...parts.map(formatPart)].join("\n\n");
}

function formatPart({ name, tables, wal, disk }: Part): string {
  const rows = tables.flatMap(({ table, rows, heap, toast, indexes, total, wal }) => [
    [table, String(rows), String(heap), String(toast), String(total - heap - toast), String(total), String(wal)],
    ...Object.entries(indexes)
      .filter(() => Object.keys(indexes).length > 1)
      .map(([index, bytes]) => [`  ${index}`, "", "", "", String(bytes), "", ""]),
  ]);
  const table = formatTable([[name, "rows", "row", "TOAST", "indexes", "total", "WAL alone"], ...rows]);
  const lines = [
    ...Object.entries(disk).map(([what, { stored, compressed }]) => {
      const bytes = `Disk of ${what}: ${stored}`;
      return compressed === undefined ? bytes : `${bytes}, ${compressed} compressed by btrfs`;
    }),
    ...Object.entries(wal).map(([what, bytes]) => `WAL of ${what}: ${bytes}`),
  ];
  return `${table}${lines.join("\n")}`;
}
