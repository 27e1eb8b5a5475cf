import { rowIsLocked } from "@waymark/database";
import { type Plan, planOf, upgradePath } from "@waymark/plan";
import { type OnLock, skipLockedSql } from "./batching.js";

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
}

/** The month's bytes after a request, or those that refused it. */
export interface BytesUsed {
  usedBytes: number;
}

/** The code and details of the error for bytes beyond the month's limit. */
export function byteLimit(plan: Plan, usedBytes: number) {
  const isHighest = plan.bytesPerMonth >= planOf("pro").bytesPerMonth;
  // Also on Pro: by `upgrade_url` the SDKs know that repeating is of no use.
  const details = {
    reason: "stored_bytes",
    limit: plan.bytesPerMonth,
    current: usedBytes,
    upgrade_url: upgradePath,
  };
  return { code: isHighest ? "byte_limit_pro" : "byte_limit", details } as const;
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
 * where another transaction inserts the month's row meanwhile, nothing is granted. Rows without bytes need no lock.
 */
export function grantBytesSql(source: string, month: string): string {
  return `fitting AS MATERIALIZED (
    SELECT * FROM (
      SELECT s.*, COALESCE(locked.bytes, 0) + sum(bytes_to_add) OVER (PARTITION BY account_id ORDER BY position) AS up_to
      FROM ${source} s LEFT JOIN locked USING (account_id) WHERE bytes_to_add = 0 OR ${hasUsageLockSql("s.account_id", month)}
    ) f WHERE bytes_to_add = 0 OR up_to <= max_bytes
  ), counted AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, ${month}, 0, sum(bytes_to_add) FROM fitting WHERE bytes_to_add > 0 GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET bytes = u.bytes + excluded.bytes
      WHERE EXISTS (SELECT FROM locked WHERE locked.account_id = u.account_id)
    RETURNING account_id, bytes
  ), granted AS MATERIALIZED (
    SELECT f.* FROM fitting f WHERE bytes_to_add = 0 OR account_id IN (SELECT account_id FROM counted)
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

/** The parameters of `source`: the bytes of each request, and its plan's limit. */
export function byteValues(requests: readonly CountedRequest[]): [bytes: number[], limits: number[]] {
  return [requests.map(({ bytes }) => bytes), requests.map(({ plan }) => plan.bytesPerMonth)];
}

/** Refuses a request that its account's month cannot take; others wait for the lock. The month's bytes only rise. */
export function refusalOfBytes(
  { bytes, plan }: Pick<CountedRequest, "bytes" | "plan">,
  usedBytes: number | null,
): ({ outcome: "byte_limit" } & BytesUsed) | typeof rowIsLocked {
  const used = usedBytes ?? 0;
  return used + bytes > plan.bytesPerMonth ? { outcome: "byte_limit", usedBytes: used } : rowIsLocked;
}
