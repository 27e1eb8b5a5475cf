import type { Buffer } from "node:buffer";
import type pg from "pg";

export interface ImportOptions {
  pool: pg.Pool;
  site: { id: string; domain: string };
  /** Newline-delimited JSON; `import-line.schema.ts` has the fields of a line. */
  input: AsyncIterable<Buffer>;
  /** Gives the country of an address, for lines with an address and no country; without it they have none. */
  countryOf?(ip: string): string | null;
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
  /** Lines read, without blank ones. */
  lines: number;
  bytes: number;
  imported: number;
  rejected: number;
  /** Lines with an event that an earlier or a concurrent import recorded. */
  duplicates: number;
  bots: number;
}

export type ImportResult = Omit<ImportProgress, "lines" | "bytes">;
