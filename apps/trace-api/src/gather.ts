import { isDatabaseUnavailable } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { Gauge, Histogram, type Registry } from "prom-client";

/** Rows of one statement at most: beyond it the cost per row hardly falls, and the wait for the statement grows. */
const maxRowsPerStatement = 256;
/** Bytes of opaque JSON in one statement at most, but for a row that is larger alone. */
const maxBytes = 1_048_576;
/** Rows that may wait: a few tenths of a second's work. Who comes later does better to try again than to wait longer. */
const maxWaitingRows = 2_000;
/** What waiting rows may count as together, such as the spans of batches: some two seconds' work. */
const maxWaitingCount = 50_000;
/** Bytes of opaque JSON that may wait, so that large bodies cannot fill the memory in few rows. */
const maxWaitingBytes = 32 * 1_048_576;
/** Seconds after which a refused client may try again. */
const retryAfterSeconds = 1;

/** What one request wants to have written or read. */
export interface Row {
  readonly accountId: string;
}

export interface GatherOptions<Item extends Row, Result> {
  /** Names the statement in metrics. */
  name: string;
  /** Does the work for all rows in one statement, so wholly or not at all, and gives the results in the rows' order. */
  run(rows: readonly Item[]): Promise<readonly Result[]>;
  /** Statements in flight at most; 1 where omitted. With more than one, {@link targetOf} keeps no order. */
  maxInFlight?: number;
  /** Rows of one statement at most, but for a row that counts as more alone; 256 where omitted. */
  maxRows?: number;
  /** As how many rows a row counts, such as a request that brings several; 1 where omitted. */
  countOf?(row: Item): number;
  /** How much opaque JSON a row carries, in UTF-16 code units. */
  bytesOf?(row: Item): number;
  /** Rows go into one statement only with rows of the same kind. */
  kindOf?(row: Item): string;
  /** What a row changes: two changes of the same thing go out one after the other, in the order they came. */
  targetOf?(row: Item): string;
}

/** Hands a row in and gives its own result, once it is committed. */
export type Gathered<Item, Result> = (row: Item) => Promise<Result>;

/** Makes gathered statements; see {@link createGather}. */
export type Gather = <Item extends Row, Result>(options: GatherOptions<Item, Result>) => Gathered<Item, Result>;

interface Waiting<Item, Result> {
  row: Item;
  count: number;
  bytes: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Gathers concurrent requests: rows that come while a statement is in flight go out together in the next one. Nothing
 * waits for company, so that a lone row goes out at once. Each row gets its own result. When a statement fails, its rows
 * are tried again apart, first by account and then one by one, so that a row that cannot be stored or is locked fails alone.
 * @returns a factory; its functions reject with AppError 503 where too much waits already
 */
export function createGather(registry: Registry): Gather {
  const rowsPerStatement = new Histogram({
    name: "waymark_rows_per_statement",
    help: "Rows that one gathered statement wrote or read",
    labelNames: ["statement"],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000],
    registers: [registry],
  });
  const queues = new Map<string, readonly unknown[]>();
  new Gauge({
    name: "waymark_rows_waiting",
    help: `Rows that wait for statements in flight; ${maxWaitingRows} at most, then 503`,
    labelNames: ["statement"],
    registers: [registry],
    collect() {
      for (const [statement, queue] of queues) this.set({ statement }, queue.length);
    },
  });

  return (options) => {
    const queue = new Queue(options, (rows) => rowsPerStatement.observe({ statement: options.name }, rows));
    queues.set(options.name, queue.waiting);
    return (row) => queue.add(row);
  };
}

class Queue<Item extends Row, Result> {
  readonly waiting: Waiting<Item, Result>[] = [];
  private waitingBytes = 0;
  private waitingCount = 0;
  private inFlight = 0;

  constructor(
    private readonly options: GatherOptions<Item, Result>,
    private readonly observe: (rows: number) => void,
  ) {}

  add(row: Item): Promise<Result> {
    const bytes = this.options.bytesOf?.(row) ?? 0;
    const count = this.options.countOf?.(row) ?? 1;
    const isOverBytes = this.waitingBytes > 0 && this.waitingBytes + bytes > maxWaitingBytes;
    if (this.waiting.length >= maxWaitingRows || isOverBytes || this.waitingCount + count > maxWaitingCount) {
      const cause = new Error(`${this.waiting.length} rows of ${this.options.name} wait already`);
      const headers = { "Retry-After": String(retryAfterSeconds) };
      return Promise.reject(new AppError("unavailable", { headers, cause }));
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ row, count, bytes, resolve, reject });
      this.waitingCount += count;
      this.waitingBytes += bytes;
      if (this.inFlight >= (this.options.maxInFlight ?? 1)) return;
      this.inFlight++;
      // At the end of this turn of the event loop: what was read from the sockets together goes out together.
      setImmediate(() => void this.run());
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) await this.settle(this.take());
    this.inFlight--;
  }

  /** The rows of the next statement, oldest first; those that cannot join it keep their order. */
  private take(): Waiting<Item, Result>[] {
    const { kindOf, targetOf, maxRows = maxRowsPerStatement } = this.options;
    const taken: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    const targets = new Set<string>();
    let kind: string | undefined;
    let count = 0;
    let bytes = 0;
    let isFull = false;
    for (const entry of this.waiting) {
      isFull ||= taken.length > 0 && (count + entry.count > maxRows || bytes + entry.bytes > maxBytes);
      const ownKind = kindOf?.(entry.row);
      if (taken.length === 0) kind = ownKind;
      const target = targetOf?.(entry.row);
      if (isFull || ownKind !== kind || (target !== undefined && targets.has(target))) {
        left.push(entry);
        continue;
      }
      if (target !== undefined) targets.add(target);
      taken.push(entry);
      count += entry.count;
      bytes += entry.bytes;
    }
    this.waiting.splice(0, this.waiting.length, ...left);
    this.waitingCount -= count;
    this.waitingBytes -= bytes;
    return taken;
  }

  private async settle(entries: readonly Waiting<Item, Result>[]): Promise<void> {
    let results: readonly Result[];
    try {
      this.observe(entries.reduce((sum, { count }) => sum + count, 0));
      results = await this.options.run(entries.map(({ row }) => row));
    } catch (error) {
      const parts = apart(entries, error);
      if (parts.length > 1) await Promise.all(parts.map((part) => this.settle(part)));
      else for (const { reject } of entries) reject(error);
      return;
    }
    entries.forEach(({ resolve }, index) => {
      resolve(results[index] as Result);
    });
  }
}

/**
 * How the rows of a failed statement are tried again: by account, and within an account one by one, but not where a lock
 * was waited for in vain, since each row would wait for it anew. A database that is down is not asked again.
 */
function apart<Item extends Row, Result>(
  entries: readonly Waiting<Item, Result>[],
  error: unknown,
): readonly (readonly Waiting<Item, Result>[])[] {
  const isLocked = (error as { code?: unknown } | null)?.code === "55P03";
  if (isDatabaseUnavailable(error) && !isLocked) return [entries];
  const byAccount = new Map<string, Waiting<Item, Result>[]>();
  for (const entry of entries) {
    const part = byAccount.get(entry.row.accountId);
    if (part) part.push(entry);
    else byAccount.set(entry.row.accountId, [entry]);
  }
  if (byAccount.size > 1) return [...byAccount.values()];
  return isLocked ? [entries] : entries.map((entry) => [entry]);
}
