import type { TableSum } from "./row-sum.js";

/** A gzip file with a script for `psql`, so a person can read it and load a single table by hand. */
export interface BackupHeader {
  /** The moment that all its data is of. Backups of former releases have none. */
  at?: string;
  migrations: readonly string[];
  months: readonly string[];
  /** The Mondays of weeks that had a partition of `span`, as `2026-11-16`. Backups of former releases have none. */
  weeks?: readonly string[];
}

const startOfBackup = "-- Waymark backup 1 ";

export const backupEnd = "-- End of the backup.\n";

/** Ends the rows of a table; within a row, `COPY` writes a backslash twice. */
export const copyEnd = "\\.\n";

/** A transaction writes and reads values in these forms, whatever the database prefers; a table takes as long as it takes. */
export const backupSession = `SET LOCAL statement_timeout = 0; SET LOCAL datestyle = 'ISO'; SET LOCAL timezone = 'UTC';
  SET LOCAL intervalstyle = 'postgres'; SET LOCAL bytea_output = 'hex'; SET LOCAL waymark.copies_rows = 'on'`;

export function backupStart(header: BackupHeader): string {
  return `${startOfBackup}${JSON.stringify(header)}\n`;
}

export function copyLine(table: string, columns: readonly string[]): string {
  return `COPY "${table}" (${columns.map((column) => `"${column}"`).join(", ")}) FROM stdin;\n`;
}

export function rowsLine({ rows, digest }: TableSum): string {
  return `${copyEnd}-- ${rows} rows, ${digest}\n`;
}

export function sequenceLine(name: string, value: string): string {
  return `SELECT setval('"${name}"', ${value});\n`;
}

export class BackupError extends Error {
  override name = "BackupError";
}

export function readStart(line: string): BackupHeader {
  if (!line.startsWith(startOfBackup)) throw new BackupError("This file is no backup of Waymark.");
  try {
    return JSON.parse(line.slice(startOfBackup.length)) as BackupHeader;
  } catch (error) {
    throw new BackupError("This backup is broken: its first line cannot be read.", { cause: error });
  }
}

/** A `COPY` with its table, the number of rows after it, a sequence's value, or the end; a file may hold no other statement. */
export function readLine(
  line: string,
): { table: string; sql: string } | { rows: number; digest: string | undefined } | { setval: string } | "end" {
  const [, table] = /^COPY "([a-z_]+)" \("[a-z_]+"(?:, "[a-z_]+")*\) FROM stdin;\n$/.exec(line) ?? [];
  if (table) return { table, sql: line.slice(0, -2) };
  const [, rows, digest] = /^-- (\d+) rows(?:, ([0-9a-f]{32}))?\n$/.exec(line) ?? [];
  if (rows) return { rows: Number(rows), digest };
  if (/^SELECT setval\('"[a-z_]+"', \d+\);\n$/.test(line)) return { setval: line };
  if (line === backupEnd) return "end";
  throw new BackupError("This backup is broken: it has a line that Waymark does not write.");
}
