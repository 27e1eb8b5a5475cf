import type { FormatName } from "../formats/format.js";
import type { EncodedBatch } from "./encoded-batch.js";
import type { CountryDatabase, ImportProgress } from "./import-options.js";
import type { EarlierLines } from "./occurrences.js";
import type { callThrough } from "./port-calls.js";

/** Plain values, since they go to the reader's thread. */
export interface ReaderOptions {
  readonly site: { readonly id: string; readonly domain: string };
  readonly format: FormatName | undefined;
  readonly dropBots: boolean;
  readonly countries: CountryDatabase | undefined;
}

/** What a reader has counted so far. */
export type ReaderCounts = Pick<ImportProgress, "format" | "lines" | "rejected" | "malformed" | "bots" | "leftOut">;

export interface Rejection {
  readonly line: number;
  readonly problem: string;
}

/** What the thread with the database does for the reader of an import. */
export interface ReaderServices {
  /** @returns the next bytes of the input; null at its end */
  chunk(given: null): Promise<Uint8Array | null>;
  /** @returns the first day that takes events; null for any */
  horizon(given: null): Promise<string | null>;
  salts(days: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  readEarlier: EarlierLines["read"];
  addEarlier(lines: { readonly ids: string; readonly seen: string }): Promise<void>;
  reject(rejections: readonly Rejection[]): Promise<void>;
  /** Takes a batch once the one before is written. @returns the horizon */
  take(batch: EncodedBatch & { readonly counts: ReaderCounts }): Promise<string | null>;
  end(counts: ReaderCounts): Promise<void>;
}

export type CallServices = ReturnType<typeof callThrough<ReaderServices>>;
