import type { Buffer } from "node:buffer";
import type pg from "pg";
import type { FormatName, LeftOut } from "../formats/format.js";

export interface CountryDatabase {
  /** Undefined for Waymark's own. */
  readonly file: string | undefined;
}

export interface ImportOptions {
  pool: pg.Pool;
  site: { id: string; domain: string };
  input: AsyncIterable<Buffer>;
  /** Guessed from the first lines where it is absent. */
  format?: FormatName;
  /** Where to find the countries of addresses, for lines without a country; without it they have none. */
  countries?: CountryDatabase;
  /** Leaves out lines with the user agent of a bot. */
  dropBots?: boolean;
  /** Called after each recorded batch, and at the end. */
  onProgress?(progress: Readonly<ImportProgress>): void;
  /** Called for each rejected line, with its number from 1 and a sentence that names the field. */
  onReject?(rejection: { line: number; problem: string }): void;
  /** Stops between batches; recorded batches stay. */
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface ImportProgress {
  format: FormatName;
  /** Lines read, without blank ones. */
  lines: number;
  bytes: number;
  imported: number;
  rejected: number;
  /** Lines with an event that an earlier or a concurrent import recorded. */
  duplicates: number;
  bots: number;
  /** Requests of a log that are no page views. */
  leftOut: Record<LeftOut, number>;
  /** Rejected lines that could not be read; the site refused the other ones. */
  malformed: number;
}

export type ImportResult = Pick<ImportProgress, "imported" | "rejected" | "duplicates" | "bots">;

export function noProgress(format: FormatName = "ndjson"): ImportProgress {
  const leftOut = { method: 0, status: 0, asset: 0 };
  return { format, lines: 0, bytes: 0, imported: 0, rejected: 0, duplicates: 0, bots: 0, leftOut, malformed: 0 };
}
