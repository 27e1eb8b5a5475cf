import type { Buffer } from "node:buffer";
import type { MessagePort, Worker } from "node:worker_threads";
import type pg from "pg";
import type { Claim, OpenClaim } from "../attribution/machine-claims.js";
import type { MachineList } from "../attribution/machine-list.schema.js";
import type { NameResolver } from "../attribution/machine-names.js";
import type { FormatName, LeftOut } from "../formats/format.js";
import type { EncodedBatch } from "./encoded-batch.js";
import type { EarlierLines } from "./occurrences.js";

interface CountryDatabase {
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
  /** Leaves out lines with the user agent of a bot, in place of counting them as requests of machines. */
  dropBots?: boolean;
  /** Leaves out all other lines: a tracker counts people. */
  machinesOnly?: boolean;
  /** Looks up the names of machines' addresses; without it claims of machines with a domain stay unknown. */
  resolver?: NameResolver | undefined;
  /** Runs in the transaction of each batch. */
  onBatch?(client: pg.ClientBase): Promise<void>;
  /** Called once all lines before an empty part of the input are recorded. */
  onFlush?(): void;
  onProgress?(progress: Readonly<ImportProgress>): void;
  /** Called for each rejected line, with its number from 1 and a sentence that names the field. */
  onReject?(rejection: { line: number; problem: string }): void;
  /** Stops between batches; recorded batches stay. */
  signal?: AbortSignal;
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
  /** Lines of bots that were dropped. */
  bots: number;
  machines: number;
  /** Requests of a log that are no page views. */
  leftOut: Record<LeftOut, number>;
  /** Rejected lines that could not be read; the site refused the other ones. */
  malformed: number;
}

export type ImportResult = Pick<ImportProgress, "imported" | "rejected" | "duplicates" | "bots" | "machines">;

export function noProgress(format: FormatName = "ndjson"): ImportProgress {
  const leftOut = { method: 0, status: 0, asset: 0 };
  return {
    format,
    lines: 0,
    bytes: 0,
    imported: 0,
    rejected: 0,
    duplicates: 0,
    bots: 0,
    machines: 0,
    leftOut,
    malformed: 0,
  };
}

/** Functions that the other side of a port may call. Values are copied, but the memory of typed arrays in them moves. */
type Services<Type> = { readonly [Name in keyof Type]: (given: never) => Promise<unknown> };

interface Call {
  readonly id: number;
  readonly name: string;
  readonly given: unknown;
}

interface Answer {
  readonly id: number;
  readonly isDone: boolean;
  readonly value?: unknown;
}

/** A call failed on the other side, which keeps the error. */
export class RemoteError extends Error {
  override name = "RemoteError";
}

export function callThrough<Type extends Services<Type>>(port: MessagePort) {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  port.on("message", ({ id, isDone, value }: Answer) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (isDone) call?.resolve(value);
    else call?.reject(new RemoteError("The other side failed"));
  });
  return <Name extends keyof Type & string>(name: Name, given: Parameters<Type[Name]>[0]) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      port.postMessage({ id, name, given } satisfies Call, buffersOf(given));
    }) as ReturnType<Type[Name]>;
}

/** Answers the calls of the other side, which learns of an error only that there is one. */
export function answerCalls<Type extends Services<Type>>(
  port: MessagePort | Worker,
  services: Type,
  onError: (error: unknown) => void,
): void {
  port.on("message", async ({ id, name, given }: Call) => {
    try {
      const value = await services[name as keyof Type](given as never);
      port.postMessage({ id, isDone: true, value } satisfies Answer, buffersOf(value));
    } catch (error) {
      onError(error);
      port.postMessage({ id, isDone: false } satisfies Answer);
    }
  });
}

function buffersOf(value: unknown): ArrayBuffer[] {
  if (typeof value !== "object" || value === null) return [];
  const views = ArrayBuffer.isView(value) ? [value] : Object.values(value).filter(ArrayBuffer.isView);
  return views.map(({ buffer }) => buffer as ArrayBuffer);
}

/** Plain values, since they go to the reader's thread. */
export interface ReaderOptions {
  readonly site: { readonly id: string; readonly domain: string };
  readonly format: FormatName | undefined;
  readonly dropBots: boolean;
  readonly machinesOnly: boolean;
  readonly countries: CountryDatabase | undefined;
}

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
  /** @returns the list of machines, unless it has the given version */
  machines(version: string | null): Promise<MachineList | null>;
  settle(claims: readonly OpenClaim[]): Promise<readonly Claim[]>;
  addEarlier(lines: { readonly ids: string; readonly seen: string }): Promise<void>;
  reject(rejections: readonly Rejection[]): Promise<void>;
  /** Takes a batch once the one before is written. @returns the horizon */
  take(batch: EncodedBatch & { readonly counts: ReaderCounts }): Promise<string | null>;
  /** Waits until all batches are written. */
  end(counts: ReaderCounts): Promise<void>;
  flush(counts: ReaderCounts): Promise<void>;
}

export type CallServices = ReturnType<typeof callThrough<ReaderServices>>;
