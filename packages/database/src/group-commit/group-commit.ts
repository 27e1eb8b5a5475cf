import { isDatabaseUnavailable, isMoving } from "../unavailable.js";
import { FairQueue, type Owner, type WaitingRow } from "./fair-queue.js";
import {
  type BatchOptions,
  findRefusal,
  type GroupCommitOptions,
  rowIsLocked,
  type WaitingLimits,
  waitingLimits,
} from "./options.js";

/** Above this the cost per row hardly falls, and rows wait longer for the statement. */
const maxRowsPerStatement = 256;
/** A row with more opaque JSON goes out alone. */
const maxBytesPerStatement = 1_048_576;
/** Default of `maxLockWaits`: each statement waiting for locks occupies a connection. */
const defaultMaxLockWaits = 2;

export function createGroupCommit<Row, Result>(options: GroupCommitOptions<Row, Result>): GroupCommit<Row, Result> {
  return new GroupCommit(options);
}

/**
 * Commits rows in groups: those arriving while a statement is in flight go out together in the next one, in turns between
 * owners ({@link FairQueue}). No timer: a single row is sent immediately. After a failure batches get smaller.
 */
export class GroupCommit<Row, Result> {
  private readonly waiting: FairQueue<Row, Result>;
  private readonly locked: GroupCommit<Row, Result> | undefined;
  /** Targets of the rows waiting for locks, and how many rows: their later changes stay in `waiting`. */
  private readonly lockedTargets = new Map<string, number>();
  private readonly limits: WaitingLimits;
  private inFlight = 0;

  constructor(private readonly options: GroupCommitOptions<Row, Result>) {
    const { maxRows = maxRowsPerStatement, maxInFlightPerOwner = Number.POSITIVE_INFINITY } = options;
    const sharesTargets = options.sharesTargets === true;
    this.waiting = new FairQueue({ maxRows, maxBytes: maxBytesPerStatement, maxInFlightPerOwner, sharesTargets });
    this.limits = { ...waitingLimits, rows: options.maxWaitingRows ?? waitingLimits.rows };
    const { runLocked, maxLockWaits = defaultMaxLockWaits, ...others } = options;
    if (!runLocked) return;
    const kindOf = (row: Row) => `${options.ownerOf(row)} ${options.kindOf?.(row)}`;
    this.locked = new GroupCommit({ ...others, run: runLocked, kindOf, maxInFlight: maxLockWaits });
  }

  get waitingRows(): number {
    return this.waiting.rows + (this.locked?.waitingRows ?? 0);
  }

  /** @throws the error of `refuse` if the queue has no capacity, or the error of the row's statement */
  add(row: Row): Promise<Result> {
    const { ownerOf, bytesOf, countOf, kindOf, targetOf, maxInFlight = 1 } = this.options;
    const bytes = bytesOf?.(row) ?? 0;
    const count = countOf?.(row) ?? 1;
    const owner = this.waiting.ownerOf(ownerOf(row));
    const refusal = findRefusal(this.limits, owner, this.waiting, count, bytes);
    if (refusal) return Promise.reject(this.options.refuse(refusal));
    return new Promise((resolve, reject) => {
      const [kind, target] = [kindOf?.(row), targetOf?.(row)];
      this.waiting.add({ row, count, bytes, kind, target, owner, isTaken: false, resolve, reject });
      if (this.inFlight < maxInFlight) this.start();
    });
  }

  private start(): void {
    this.inFlight++;
    // At the end of this turn of the event loop, so rows read from the sockets together go out together.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    for (let batch = this.take(); batch.length > 0; batch = this.take()) {
      await this.settle(batch, this.options.run);
      for (const { owner } of batch) owner.inFlight--;
      if (this.options.giveUp && !this.locked) this.giveUp(this.options.giveUp);
    }
    this.inFlight--;
  }

  private take(): WaitingRow<Row, Result>[] {
    return this.waiting.rows === 0 ? [] : this.waiting.take(this.lockedTargets);
  }

  private async settle(
    batch: readonly WaitingRow<Row, Result>[],
    run: BatchOptions<Row, Result>["run"],
  ): Promise<void> {
    let results: readonly (Result | typeof rowIsLocked)[];
    try {
      this.options.observe?.(batch.reduce((sum, { count }) => sum + count, 0));
      results = await run(batch.map(({ row }) => row));
    } catch (error) {
      await this.retry(batch, run, error);
      return;
    }
    let locked: WaitingRow<Row, Result>[] | undefined;
    batch.forEach((entry, index) => {
      const result = results[index];
      if (result !== rowIsLocked) entry.resolve(result as Result);
      else if (locked) locked.push(entry);
      else locked = [entry];
    });
    if (locked) this.waitForLocks(locked);
  }

  private async retry(
    batch: readonly WaitingRow<Row, Result>[],
    run: BatchOptions<Row, Result>["run"],
    error: unknown,
  ): Promise<void> {
    const inTurn = this.options.retry === "in-halves";
    const parts = inTurn ? splitInHalves(batch, error) : splitByOwner(batch, error);
    if (parts.length <= 1) for (const { reject } of batch) reject(error);
    else if (inTurn) for (const part of parts) await this.settle(part, run);
    else await Promise.all(parts.map((part) => this.settle(part, run)));
  }

  private waitForLocks(entries: readonly WaitingRow<Row, Result>[]): void {
    if (this.locked) for (const entry of entries) void this.waitForLock(this.locked, entry);
    else if (this.options.giveUp) this.waiting.giveBack(entries);
    else for (const { reject } of entries) reject(new Error(`${this.options.name} cannot wait for locks`));
  }

  /** The statement that found the row locked does not wait for this. */
  private async waitForLock(
    locked: GroupCommit<Row, Result>,
    { row, target, resolve, reject }: WaitingRow<Row, Result>,
  ): Promise<void> {
    const { lockedTargets } = this;
    if (target !== undefined) lockedTargets.set(target, (lockedTargets.get(target) ?? 0) + 1);
    await locked.add(row).then(resolve, reject);
    if (target === undefined) return;
    const left = (lockedTargets.get(target) ?? 1) - 1;
    if (left > 0) lockedTargets.set(target, left);
    else {
      lockedTargets.delete(target);
      // Rows held back meanwhile may have waited as long as those in `locked`.
      if (this.options.giveUp) this.giveUp(this.options.giveUp, target);
    }
    if (this.waiting.rows > 0 && this.inFlight < (this.options.maxInFlight ?? 1)) this.start();
  }

  private giveUp(errorOf: (row: Row) => Error | undefined, only?: string): void {
    if (this.waiting.rows === 0) return;
    this.waiting.remove(({ row, target, reject }) => {
      const error = only === undefined || target === only ? errorOf(row) : undefined;
      if (error) reject(error);
      return error !== undefined;
    });
  }
}

const isUseless = (error: unknown) => isDatabaseUnavailable(error) && !isMoving(error);

/** A bad row fails alone. Rows of one owner whose lock timed out stay together: each would wait for that lock again. */
function splitByOwner<Row, Result>(
  batch: readonly WaitingRow<Row, Result>[],
  error: unknown,
): readonly (readonly WaitingRow<Row, Result>[])[] {
  const isLocked = (error as { code?: unknown } | null)?.code === "55P03";
  if (isUseless(error) && !isLocked) return [batch];
  const byOwner = new Map<Owner<Row, Result>, WaitingRow<Row, Result>[]>();
  for (const entry of batch) {
    const part = byOwner.get(entry.owner);
    if (part) part.push(entry);
    else byOwner.set(entry.owner, [entry]);
  }
  if (byOwner.size > 1) return [...byOwner.values()];
  return isLocked || isMoving(error) ? [batch] : batch.map((entry) => [entry]);
}

function splitInHalves<Row, Result>(
  batch: readonly WaitingRow<Row, Result>[],
  error: unknown,
): readonly (readonly WaitingRow<Row, Result>[])[] {
  if (batch.length === 1 || isUseless(error)) return [batch];
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}
