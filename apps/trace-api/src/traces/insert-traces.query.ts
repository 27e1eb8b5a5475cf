import { binaryArray, rowIsLocked } from "@waymark/database";
import type pg from "pg";
import type { OnLock } from "../batching/on-lock.js";
import { insertIdempotentTraces } from "./insert-idempotent-traces.query.js";
import { isStoredAlone, tryInsertTrace } from "./insert-one-trace.query.js";
import {
  type CreateTraceResult,
  hasUsageLockSql,
  type InsertResult,
  lockedUsageSql,
  refusalOf,
  type TraceRow,
} from "./trace-row.js";

/**
 * Adds each account's new traces to its month ($1) and stores them; beyond the limit ($4) it does neither.
 * The month's row stays locked until commit, and a waiting statement tests the newest count: the limit is exact. Rows
 * lock in the order of accounts, so instances do not deadlock. Per account two probes of `trace_usage_pkey`,
 * per trace one of `trace_pkey`, per new agent one of `agent_pkey`.
 */
const insertTracesSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock)}, quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces)
    SELECT account_id, $1, a.traces FROM unnest($2::uuid[], $3::int[]) AS a (account_id, traces)
    WHERE a.traces <= $4 AND ${hasUsageLockSql("a.account_id")} ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces
      WHERE u.traces + excluded.traces <= $4
    RETURNING account_id, traces
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, id FROM unnest($5::uuid[], $6::text[]) AS a (account_id, id) JOIN quota USING (account_id)
    ORDER BY account_id, id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id)
    SELECT account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id
    FROM unnest($7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::json[],
      $15::bytea[])
      AS t (account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id)
    JOIN quota USING (account_id)
  )
  SELECT account_id, quota.traces AS used, CASE WHEN quota.traces IS NULL THEN (
    SELECT u.traces FROM trace_usage u WHERE u.account_id = a.account_id AND u.month = $1
  ) END AS seen, locked.account_id IS NOT NULL AS has_lock
  FROM unnest($2::uuid[]) AS a (account_id) LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id)`;

const statements = {
  skip: { name: "insert-traces", text: insertTracesSql("skip") },
  wait: { name: "insert-locked-traces", text: insertTracesSql("wait") },
} as const;

interface AccountAnswer {
  account_id: string;
  used: number | null;
  seen: number | null;
  has_lock: boolean;
}

/** Stores traces of one month and limit in one transaction; either all or none of them have idempotency keys. */
export async function insertTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
  onLock: OnLock,
): Promise<InsertResult[]> {
  if (rows[0]?.idempotency) return insertIdempotentTraces(db, rows, onLock);
  const alone = onLock === "skip" && isStoredAlone(rows) ? await tryInsertTrace(db, rows[0]) : undefined;
  if (alone) return [alone];
  const { month, plan } = rows[0] ?? { month: "", plan: { tracesPerMonth: 0 } };
  const counts = new Map<string, number>();
  const positions = rows.map(({ accountId }) => {
    const position = (counts.get(accountId) ?? 0) + 1;
    counts.set(accountId, position);
    return position;
  });
  const newAgents = rows.filter(({ isAgentKnown }) => !isAgentKnown);
  const { rows: accounts } = await db.query<AccountAnswer>({
    ...statements[onLock],
    values: [
      month,
      [...counts.keys()],
      [...counts.values()],
      plan.tracesPerMonth,
      newAgents.map(({ accountId }) => accountId),
      newAgents.map(({ trace }) => trace.agent_id),
      rows.map(({ accountId }) => accountId),
      rows.map(({ traceId }) => traceId),
      rows.map(({ trace }) => trace.agent_id),
      rows.map(({ trace }) => trace.name),
      rows.map(({ trace }) => trace.status),
      rows.map(({ trace }) => trace.started_at),
      rows.map(({ trace }) => trace.ended_at),
      binaryArray(
        "json",
        rows.map(({ trace }) => trace.metadata?.text ?? null),
      ),
      rows.map(({ otlp }) => otlp && `\\x${otlp.traceId}`),
    ],
  });
  const byAccount = new Map(accounts.map((account) => [account.account_id, account]));
  return rows.map(({ accountId, traceId }, index) => {
    const { used = null, seen = null, has_lock = false } = byAccount.get(accountId) ?? {};
    if (used === null) return refusalOf(seen, has_lock, plan.tracesPerMonth);
    return { outcome: "created", traceId, used: used - (counts.get(accountId) ?? 0) + (positions[index] ?? 0) };
  });
}

/** Does the same and waits for locks. Undefined also for an account that was deleted meanwhile. */
export async function insertLockedTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
): Promise<(CreateTraceResult | undefined)[]> {
  const results = await insertTraces(db, rows, "wait");
  return results.map((result) => (result === rowIsLocked ? undefined : result));
}
