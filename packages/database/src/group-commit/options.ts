/** Limits of the rows waiting for one kind of statement. Beyond them, failing fast beats waiting. */
export const waitingLimits = {
  /** A few tenths of a second of work. */
  rows: 2_000,
  /** Such as the spans of batches: some two seconds of work. */
  count: 50_000,
  /** Opaque JSON: large bodies must not fill the memory in few rows. */
  bytes: 32 * 1_048_576,
} as const;

const ownerShare = 1 / 4;

type Limit = keyof typeof waitingLimits;

export type WaitingLimits = Readonly<Record<Limit, number>>;

export interface Refusal {
  limit: Limit;
  scope: "owner" | "all";
  max: number;
}

export interface Load {
  rows: number;
  count: number;
  bytes: number;
}

/** Returns why a row of `count` and `bytes` has to be refused, or undefined. An empty queue takes a row of any size. */
export function findRefusal(
  limits: WaitingLimits,
  own: Load,
  all: Load,
  count: number,
  bytes: number,
): Refusal | undefined {
  const ownLimit = overLimit(limits, ownerShare, own, count, bytes);
  if (ownLimit) return { limit: ownLimit, scope: "owner", max: limits[ownLimit] * ownerShare };
  const limit = overLimit(limits, 1, all, count, bytes);
  return limit && { limit, scope: "all", max: limits[limit] };
}

function overLimit(limits: WaitingLimits, share: number, present: Load, count: number, bytes: number) {
  if (present.rows >= limits.rows * share) return "rows";
  if (present.count > 0 && present.count + count > limits.count * share) return "count";
  return present.bytes > 0 && present.bytes + bytes > limits.bytes * share ? "bytes" : undefined;
}

export const rowIsLocked = Symbol("the row is locked");

export interface BatchOptions<Row, Result> {
  name: string;
  /** Runs one statement for all rows, wholly or not at all. Returns the results in the order of the rows. */
  run(rows: readonly Row[]): Promise<readonly (Result | typeof rowIsLocked)[]>;
  /** Does the same for locked rows of one owner and waits for the locks, as `run` then must not: it would delay other rows. */
  runLocked?(rows: readonly Row[]): Promise<readonly (Result | typeof rowIsLocked)[]>;
  maxLockWaits?: number;
  /** Returns the error of a locked row that has waited long enough. Required if `runLocked` returns `rowIsLocked`. */
  giveUp?(row: Row): Error | undefined;
  /** By owner, then row by row (default); or `in-halves`, one after the other, where statements wait for each other. */
  retry?: "by-owner" | "in-halves";
  /** Statements in flight at most; default 1. With more than one, {@link targetOf} keeps no order. */
  maxInFlight?: number;
  /** Rows of one owner in flight at most, for slow statements of one row; default no limit. */
  maxInFlightPerOwner?: number;
  /** Rows per statement at most, except a row that counts as more by itself; default 256. */
  maxRows?: number;
  /** Waiting rows at most, a quarter of them of one owner; default 2,000. */
  maxWaitingRows?: number;
  /** How many rows a row counts as, for requests that bring several; default 1. */
  countOf?(row: Row): number;
  /** Size of the opaque JSON of a row, in UTF-16 code units; default 0. */
  bytesOf?(row: Row): number;
  kindOf?(row: Row): string;
  /** The thing changed by a row. Two changes of one thing go into separate statements, in the order of arrival. */
  targetOf?(row: Row): string;
  /** Whether changes of one thing may share a statement after all; they keep their order. */
  sharesTargets?: boolean;
}

export interface GroupCommitOptions<Row, Result> extends BatchOptions<Row, Result> {
  ownerOf(row: Row): string;
  refuse(refusal: Refusal): Error;
  observe?(rows: number): void;
}

export type Batched<Row, Result> = (row: Row) => Promise<Result>;

/** A service's `createGroupCommit` for rows of accounts, with its refusals and metrics filled in. */
export type CreateGroupCommit = <Row extends { readonly accountId: string }, Result>(
  options: BatchOptions<Row, Result>,
) => Batched<Row, Result>;
