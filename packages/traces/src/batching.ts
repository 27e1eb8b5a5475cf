import type { Batched, CreateGroupCommit } from "@waymark/database";
import type pg from "pg";

/** What statements for rows of many requests need. */
export interface Batching {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}

/** For what depends on the time: a range that ends now, the monthly limits. */
export interface TimedBatching extends Batching {
  now(): Date;
}

export interface LoggedBatching extends Batching {
  log: { warn(fields: object, message: string): void };
}

/** Batching of slow work on one row: two connections, and one of them per account. */
export const oneAtATime = { maxRows: 1, maxInFlight: 2, maxInFlightPerOwner: 1 } as const;

/** For work that takes a tenth of a second: more would wait longer than a client does. */
export const fewWaiting = { maxWaitingRows: 200 } as const;

interface Limits<Row> {
  maxInFlight?: number;
  maxInFlightPerOwner?: number;
  maxWaitingRows?: number;
  bytesOf?(row: Row): number;
}

/** Makes slow work wait for its turn; accounts take turns. */
export function oneByOne<Row extends { readonly accountId: string }, Result>(
  { pool, createGroupCommit }: Batching,
  name: string,
  run: (pool: pg.Pool, row: Row) => Promise<Result>,
  limits: Limits<Row> = {},
): Batched<Row, Result> {
  const runAll = (rows: readonly Row[]) => Promise.all(rows.map((row) => run(pool, row)));
  return createGroupCommit<Row, Result>({ name, run: runAll, ...oneAtATime, ...limits });
}

/** Whether a statement waits for locked rows or leaves them alone. */
export type OnLock = "wait" | "skip";

/** The end of a locking clause such as `FOR NO KEY UPDATE`. */
export const skipLockedSql = (onLock: OnLock) => (onLock === "skip" ? "SKIP LOCKED" : "");

/** The locking clause that keeps a trace `t` from deletion until the commit; none without `onLock`. */
export const keepTraceSql = (onLock: OnLock | undefined) =>
  onLock ? `FOR KEY SHARE OF t ${skipLockedSql(onLock)}` : "";

/**
 * Whether a row `s` of `span` has the account, trace and id given in SQL, by a probe of `span_pkey`. For statements that lock rows:
 * where such a lock meets a change, Postgres 18.4 reads freed memory for plans that choose partitions by a value of another
 * table, and ends all sessions. It chooses none by comparisons of rows; bounds of `trace_id` as parameters do so before.
 */
export function isSpanSql([account, trace, id]: readonly [account: string, trace: string, id: string]): string {
  const key = `(${trace}, ${id})`;
  return `s.account_id = ${account} AND s.id = ${id} AND (s.trace_id, s.id) BETWEEN ${key} AND ${key}`;
}

/** A statement such as `insert-traces`, and `insert-locked-traces`, which waits. */
export function onLockStatements(name: string, sqlOf: (onLock: OnLock) => string) {
  return {
    skip: { name, text: sqlOf("skip") },
    wait: { name: name.replace("-", "-locked-"), text: sqlOf("wait") },
  } as const;
}
