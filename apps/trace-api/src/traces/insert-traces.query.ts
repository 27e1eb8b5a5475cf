import { rowIsLocked } from "@waymark/database";
import { planOf } from "@waymark/plan";
import { type Columns, columnArrays, traceColumns, unnestSql } from "@waymark/traces";
import type pg from "pg";
import type { OnLock } from "../batching/on-lock.js";
import { hasUsageLockSql, lockedUsageSql } from "../usage/stored-bytes.js";
import { insertIdempotentTraces } from "./insert-idempotent-traces.query.js";
import { isStoredAlone, tryInsertTrace } from "./insert-one-trace.query.js";
import {
  type CreateTraceResult,
  type InsertResult,
  type MonthAnswer,
  monthAnswerSql,
  refusalOf,
  type TraceRow,
} from "./trace-row.js";

const columns: Columns<TraceRow> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  id: { type: "uuid", of: ({ traceId }) => traceId },
  ...traceColumns<TraceRow>(({ trace }) => trace),
  otel_trace_id: { type: "bytea", of: ({ otlp }) => otlp && `\\x${otlp.traceId}` },
};
const names = Object.keys(columns).join(", ");

/**
 * Adds each account's new traces and their bytes to its month ($1) and stores them; beyond a limit ($4, $8) it does neither.
 * The month's row stays locked until commit, and a waiting statement tests the newest count: the limit is exact. Rows
 * lock in the order of accounts, so instances do not deadlock. Per account two probes of `trace_usage_pkey`,
 * per trace one of `trace_pkey`, per new agent one of `agent_pkey`.
 */
const insertTracesSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$2::uuid[]", month: "$1" })}, quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, $1, a.traces, a.bytes FROM unnest($2::uuid[], $3::int[], $7::bigint[]) AS a (account_id, traces, bytes)
    WHERE a.traces <= $4 AND a.bytes <= $8 AND ${hasUsageLockSql("a.account_id", "$1")} ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces, bytes = u.bytes + excluded.bytes
      WHERE u.traces + excluded.traces <= $4 AND u.bytes + excluded.bytes <= $8
    RETURNING account_id, traces, bytes
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, id FROM unnest($5::uuid[], $6::text[]) AS a (account_id, id) JOIN quota USING (account_id)
    ORDER BY account_id, id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (${names}) SELECT ${names} FROM ${unnestSql(9, columns)}
    JOIN quota USING (account_id)
  )
  SELECT account_id, ${monthAnswerSql("a")}
  FROM unnest($2::uuid[]) AS a (account_id) LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id)`;

const statements = {
  skip: { name: "insert-traces", text: insertTracesSql("skip") },
  wait: { name: "insert-locked-traces", text: insertTracesSql("wait") },
} as const;

interface AccountAnswer extends MonthAnswer {
  account_id: string;
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
  const { month, plan } = rows[0] ?? { month: "", plan: planOf("free") };
  const counts = new Map<string, number>();
  const sizes = new Map<string, number>();
  const positions = rows.map(({ accountId, bytes }) => {
    const position = (counts.get(accountId) ?? 0) + 1;
    counts.set(accountId, position);
    sizes.set(accountId, (sizes.get(accountId) ?? 0) + bytes);
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
      [...sizes.values()],
      plan.bytesPerMonth,
      ...columnArrays(rows, columns),
    ],
  });
  const byAccount = new Map(accounts.map((account) => [account.account_id, account]));
  return rows.map((row, index) => {
    const { accountId, traceId } = row;
    const answer = byAccount.get(accountId);
    if (!answer) return undefined;
    if (!answer.is_stored) return refusalOf(row, answer);
    const used = (answer.traces ?? 0) - (counts.get(accountId) ?? 0) + (positions[index] ?? 0);
    return { outcome: "created", traceId, used, usedBytes: answer.bytes ?? 0 };
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
