import { rowIsLocked } from "@waymark/database";
import type { Plan } from "@waymark/plan";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";

/** The bytes that a row takes beside its texts: its head, ids, times and index entries. */
const rowBytes = 256;

/** The bytes that a row counts in its account's month: {@link rowBytes} and its texts in UTF-8, with JSON as received. */
export function storedBytes(texts: readonly (string | Uint8Array | null | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text ? Buffer.byteLength(text) : 0), rowBytes);
}

/** A request that stores rows, and the month and plan that count them. */
export interface CountedRequest {
  /** First day of the UTC month of receipt, `YYYY-MM-DD`. */
  month: string;
  plan: Plan;
  /** The sum of {@link storedBytes} of its rows. */
  bytes: number;
  /** Whether a reserve has counted it already. */
  isPaid?: boolean;
  /** Counted with it for requests to come. */
  bytesToReserve?: number;
}

/** The month's bytes after a request, or those that refused it. */
export interface BytesUsed {
  usedBytes: number;
}

/** A CTE `locked`: the month's rows of the accounts, locked in the order of accounts. Probes `trace_usage_pkey`. */
export function lockedUsageSql(onLock: OnLock, { accounts, month }: { accounts: string; month: string }): string {
  return `locked AS MATERIALIZED (
    SELECT u.account_id, u.traces, u.bytes FROM trace_usage u WHERE u.account_id = ANY(${accounts}) AND u.month = ${month}
    ORDER BY u.account_id FOR NO KEY UPDATE ${skipLockedSql(onLock)}
  )`;
}

/** Whether this transaction has locked the account's month, or the month has no row yet. */
export function hasUsageLockSql(account: string, month: string): string {
  return `(EXISTS (SELECT FROM locked WHERE locked.account_id = ${account})
      OR NOT EXISTS (SELECT FROM trace_usage o WHERE o.account_id = ${account} AND o.month = ${month}))`;
}

/**
 * CTEs after {@link lockedUsageSql}: `granted` has the rows of the CTE `source` (position, account_id, bytes_to_add, max_bytes)
 * that fit into their accounts' months, in the order of positions, and `counted` adds them up. The lock makes the limit exact:
 * where another transaction inserts the month's row meanwhile, nothing is granted. Rows without bytes, and paid ones, whose
 * `max_bytes` is null, need no lock.
 */
export function grantBytesSql(source: string, month: string): string {
  return `fitting AS MATERIALIZED (
    SELECT * FROM (
      SELECT s.*, bytes_to_add = 0 OR max_bytes IS NULL AS is_free, COALESCE(locked.bytes, 0)
        + sum(bytes_to_add) FILTER (WHERE max_bytes IS NOT NULL) OVER (PARTITION BY account_id ORDER BY position) AS up_to
      FROM ${source} s LEFT JOIN locked USING (account_id)
      WHERE bytes_to_add = 0 OR max_bytes IS NULL OR ${hasUsageLockSql("s.account_id", month)}
    ) f WHERE is_free OR up_to <= max_bytes
  ), counted AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, ${month}, 0, sum(bytes_to_add) FROM fitting WHERE NOT is_free GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET bytes = u.bytes + excluded.bytes
      WHERE EXISTS (SELECT FROM locked WHERE locked.account_id = u.account_id)
    RETURNING account_id, bytes
  ), granted AS MATERIALIZED (
    SELECT f.* FROM fitting f WHERE is_free OR account_id IN (SELECT account_id FROM counted)
  )`;
}

/** The month's bytes of an account, as new as the statement knows them; null without a row. */
export function usedBytesSql(account: string, month: string): string {
  return `COALESCE(
    (SELECT counted.bytes FROM counted WHERE counted.account_id = ${account}),
    (SELECT locked.bytes FROM locked WHERE locked.account_id = ${account}),
    (SELECT u.bytes FROM trace_usage u WHERE u.account_id = ${account} AND u.month = ${month})
  )`;
}

/** The accounts of unpaid requests. @param limits the parameter of their months' limits */
export const countedAccountsSql = (limits: string) => `ARRAY(
    SELECT account_id FROM unnest($1::uuid[], ${limits}::bigint[]) AS c (account_id, max_bytes) WHERE max_bytes IS NOT NULL
  )`;

/** The most bytes of a request's month; null for a paid one. */
export const byteLimitOf = ({ plan, isPaid }: Pick<CountedRequest, "plan" | "isPaid">) =>
  isPaid ? null : plan.bytesPerMonth;

/** The parameters of `source`: the bytes of each request, and its month's limit. */
export function byteValues(requests: readonly CountedRequest[]): [bytes: number[], limits: (number | null)[]] {
  return [requests.map(({ bytes, bytesToReserve = 0 }) => bytes + bytesToReserve), requests.map(byteLimitOf)];
}

/** Refuses a request that its account's month cannot take; others wait for the lock. The month's bytes only rise. */
export function refusalOfBytes(
  { bytes, bytesToReserve = 0, plan }: Pick<CountedRequest, "bytes" | "bytesToReserve" | "plan">,
  usedBytes: number | null,
): ({ outcome: "byte_limit" } & BytesUsed) | typeof rowIsLocked {
  const used = usedBytes ?? 0;
  return used + bytes + bytesToReserve > plan.bytesPerMonth ? { outcome: "byte_limit", usedBytes: used } : rowIsLocked;
}
