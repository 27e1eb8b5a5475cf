import { isDatabaseUnavailable } from "@waymark/database";
import type { AppError } from "@waymark/errors";
import { createRefusals, type Refusals } from "@waymark/http";
import { Gauge, Histogram, type Registry } from "prom-client";
import { type Account, FairQueue, type Waiting } from "./fair-queue.js";

/** Rows of one statement at most: beyond it the cost per row hardly falls, and the wait for the statement grows. */
const maxRowsPerStatement = 256;
/** Bytes of opaque JSON in one statement at most, but for a row that is larger alone. */
const maxBytesPerStatement = 1_048_576;
/** Limits of the rows that wait for one sort of statement. Beyond them, failing fast beats waiting. */
const maxWaiting = {
  /** A few tenths of a second's work. */
  rows: 2_000,
  /** What rows count as together, such as the spans of batches: some two seconds' work. */
  count: 50_000,
  /** Opaque JSON, so that large bodies cannot fill the memory in few rows. */
  bytes: 32 * 1_048_576,
} as const;
/** The part of it that one account may have. */
const accountShare = 1 / 4;
/** Statements in flight that wait for locks, of each sort. */
const maxLockWaits = 2;

/** The result of a row that {@link GatherOptions.run} left alone, because another transaction has a lock on it. */
export const rowIsLocked = Symbol("the row is locked");

/** A request's row, to be written or read. */
export interface Row {
  readonly accountId: string;
}

export interface GatherOptions<Item extends Row, Result> {
  /** Names the statement in metrics. */
  name: string;
  /** Does the work for all rows in one statement, so wholly or not at all, and gives the results in the rows' order. */
  run(rows: readonly Item[]): Promise<readonly (Result | typeof rowIsLocked)[]>;
  /**
   * Does the same for rows of one account that were locked, and waits for the locks. Where it is given, `run` waits for
   * none, so that a row that somebody keeps locked holds up nobody else's.
   */
  runLocked?(rows: readonly Item[]): Promise<readonly Result[]>;
  /** Statements in flight at most; 1 where omitted. With more than one, {@link targetOf} keeps no order. */
  maxInFlight?: number;
  /** Rows of one account in flight at most, for statements of one row that take long; no limit where omitted. */
  maxInFlightPerAccount?: number;
  /** Rows of one statement at most, but for a row that counts as more alone; 256 where omitted. */
  maxRows?: number;
  /** Rows that may wait, a quarter of them of one account; 2,000 where omitted. */
  maxWaitingRows?: number;
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

/**
 * Gathers concurrent requests: rows that come while a statement is in flight go out together in the next one, in turns
 * between accounts ({@link FairQueue}). No timer: a single row is sent immediately. Each row gets its own
 * result. When a statement fails, its rows are tried again apart, first by account and then one by one, so that a row
 * that cannot be stored fails alone.
 * @returns a factory; its functions reject with AppError 429 where an account's share of what may wait is used up, and with
 * 503 where all of it is
 */
export function createGather(registry: Registry): Gather {
  const rowsPerStatement = new Histogram({
    name: "waymark_rows_per_statement",
    help: "Rows that one gathered statement wrote or read",
    labelNames: ["statement"],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000],
    registers: [registry],
  });
  const queues = new Map<string, { readonly waitingRows: number }>();
  new Gauge({
    name: "waymark_rows_waiting",
    help: "Rows that wait for statements in flight, by statement",
    labelNames: ["statement"],
    registers: [registry],
    collect() {
      for (const [statement, { waitingRows }] of queues) this.set({ statement }, waitingRows);
    },
  });
  const refusals = createRefusals(registry);

  return (options) => {
    const observe = (rows: number) => rowsPerStatement.observe({ statement: options.name }, rows);
    const queue = new Queue(options, refusals, observe);
    queues.set(options.name, queue);
    return (row) => queue.add(row);
  };
}

class Queue<Item extends Row, Result> {
  private readonly waiting: FairQueue<Item, Result>;
  /** Where rows wait for locks, apart from those that need not. */
  private readonly locked: Queue<Item, Result> | undefined;
  /** Targets of the rows that wait for locks: later changes of them come after. */
  private readonly lockedTargets = new Set<string>();
  private readonly limits: Readonly<Record<keyof typeof maxWaiting, number>>;
  private inFlight = 0;

  constructor(
    private readonly options: GatherOptions<Item, Result>,
    private readonly refusals: Refusals,
    private readonly observe: (rows: number) => void,
  ) {
    const { maxRows = maxRowsPerStatement, maxInFlightPerAccount = Number.POSITIVE_INFINITY } = options;
    this.waiting = new FairQueue({ maxRows, maxBytes: maxBytesPerStatement, maxInFlightPerAccount });
    this.limits = { ...maxWaiting, rows: options.maxWaitingRows ?? maxWaiting.rows };
    const { runLocked, ...others } = options;
    if (!runLocked) return;
    const kindOf = (row: Item) => `${row.accountId} ${options.kindOf?.(row)}`;
    this.locked = new Queue({ ...others, run: runLocked, kindOf, maxInFlight: maxLockWaits }, refusals, observe);
  }

  get waitingRows(): number {
    return this.waiting.rows + (this.locked?.waitingRows ?? 0);
  }

  add(row: Item): Promise<Result> {
    const { bytesOf, countOf, kindOf, targetOf, maxInFlight = 1 } = this.options;
    const bytes = bytesOf?.(row) ?? 0;
    const count = countOf?.(row) ?? 1;
    const account = this.waiting.accountOf(row.accountId);
    const refusal = this.refusal(account, count, bytes);
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const [kind, target] = [kindOf?.(row), targetOf?.(row)];
      this.waiting.add({ row, count, bytes, kind, target, account, isTaken: false, resolve, reject });
      if (this.inFlight < maxInFlight) this.start();
    });
  }

  private refusal(own: Account<Item, Result>, count: number, bytes: number): AppError | undefined {
    const { waiting, limits } = this;
    const overShare = overLimit(own.entries.length, own, { count, bytes }, limits, accountShare);
    const over = overShare ?? overLimit(waiting.rows, waiting, { count, bytes }, limits, 1);
    if (over === undefined) return undefined;
    const most = describe[over](limits[over] * (overShare ? accountShare : 1));
    const whose = overShare ? "of one account" : "of all accounts together";
    const reason = `At most ${most} ${whose} may wait for ${this.options.name}`;
    return this.refusals[overShare ? "account" : "service"](`waiting_${over}`, reason);
  }

  private start(): void {
    this.inFlight++;
    // At the end of this turn of the event loop: what was read from the sockets together goes out together.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    for (let taken = this.take(); taken.length > 0; taken = this.take()) {
      await this.settle(taken, this.options.run);
      for (const { account } of taken) account.inFlight--;
    }
    this.inFlight--;
  }

  private take(): Waiting<Item, Result>[] {
    return this.waiting.rows === 0 ? [] : this.waiting.take(this.lockedTargets);
  }

  private async settle(
    entries: readonly Waiting<Item, Result>[],
    run: GatherOptions<Item, Result>["run"],
  ): Promise<void> {
    let results: readonly (Result | typeof rowIsLocked)[];
    try {
      this.observe(entries.reduce((sum, { count }) => sum + count, 0));
      results = await run(entries.map(({ row }) => row));
    } catch (error) {
      const parts = apart(entries, error);
      if (parts.length > 1) await Promise.all(parts.map((part) => this.settle(part, run)));
      else for (const { reject } of entries) reject(error);
      return;
    }
    entries.forEach((entry, index) => {
      const result = results[index];
      if (result === rowIsLocked) void this.waitForLock(entry);
      else entry.resolve(result as Result);
    });
  }

  /** Not awaited by the statement that found the row locked. */
  private async waitForLock({ row, target, resolve, reject }: Waiting<Item, Result>): Promise<void> {
    if (!this.locked) throw new Error(`${this.options.name} has no way to wait for locks`);
    if (target !== undefined) this.lockedTargets.add(target);
    await this.locked.add(row).then(resolve, reject);
    if (target === undefined) return;
    this.lockedTargets.delete(target);
    if (this.waiting.rows > 0 && this.inFlight < (this.options.maxInFlight ?? 1)) this.start();
  }
}

/** Which limit a further row would break. A row that is larger than a limit alone is taken where nothing else waits. */
function overLimit(
  rows: number,
  present: { count: number; bytes: number },
  more: { count: number; bytes: number },
  limits: Readonly<Record<keyof typeof maxWaiting, number>>,
  share: number,
): keyof typeof maxWaiting | undefined {
  if (rows >= limits.rows * share) return "rows";
  if (present.count > 0 && present.count + more.count > limits.count * share) return "count";
  return present.bytes > 0 && present.bytes + more.bytes > limits.bytes * share ? "bytes" : undefined;
}

const describe = {
  rows: (rows: number) => `${rows.toLocaleString("en")} requests`,
  count: (count: number) => `${count.toLocaleString("en")} spans`,
  bytes: (bytes: number) => `${bytes / 1_048_576} MiB`,
} as const;

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
