import { binaryArray } from "@waymark/database";
import { planOf } from "@waymark/plan";
import type pg from "pg";
import type { OnLock } from "../batching/on-lock.js";
import { keyStateSql } from "../idempotency/key-state.js";
import { hasUsageLockSql, lockedUsageSql } from "../usage/stored-bytes.js";
import { type InsertResult, type MonthAnswer, monthAnswerSql, refusalOf, type TraceRow } from "./trace-row.js";

/**
 * Does the same as `insertTracesSql` for traces with idempotency keys. Only traces with a new key count and are stored,
 * each with its key in one transaction: the key is stored exactly when its trace is. The keys of a refused account stay
 * free. One further probe of `idempotency_key_pkey` per trace.
 */
const insertIdempotentTracesSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$2::uuid[]", month: "$1" })}, asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state
    FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::boolean[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[],
      $10::json[], $11::text[], $12::bytea[], $14::int[]) WITH ORDINALITY
      AS r (account_id, id, agent_id, is_agent_known, name, status, started_at, ended_at, metadata, key, request_hash, bytes, position)
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
  ), quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, $1, count(*)::int, sum(bytes) FROM asked WHERE state = 'new' AND ${hasUsageLockSql("asked.account_id", "$1")}
    GROUP BY account_id HAVING count(*) <= $13 AND sum(bytes) <= $15 ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces, bytes = u.bytes + excluded.bytes
      WHERE u.traces + excluded.traces <= $13 AND u.bytes + excluded.bytes <= $15
    RETURNING account_id, traces, bytes
  ), granted AS (
    SELECT asked.* FROM asked JOIN quota USING (account_id) WHERE state = 'new'
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, agent_id FROM granted WHERE NOT is_agent_known ORDER BY account_id, agent_id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, metadata)
    SELECT account_id, id, agent_id, name, status, started_at, ended_at, metadata FROM granted
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, ARRAY[id] FROM granted
  )
  SELECT state, ids, ${monthAnswerSql("asked")}
  FROM asked LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id) ORDER BY position`;

const statements = {
  skip: { name: "insert-idempotent-traces", text: insertIdempotentTracesSql("skip") },
  wait: { name: "insert-locked-idempotent-traces", text: insertIdempotentTracesSql("wait") },
} as const;

interface Answer extends MonthAnswer {
  state: "new" | "replayed" | "key_reused" | "key_in_use";
  ids: string[] | null;
}

/** Stores traces of one month and limit in one transaction. All have idempotency keys, and no key comes twice. */
export async function insertIdempotentTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
  onLock: OnLock,
): Promise<InsertResult[]> {
  const { month, plan } = rows[0] ?? { month: "", plan: planOf("free") };
  const { rows: answers } = await db.query<Answer>({
    ...statements[onLock],
    values: [
      month,
      rows.map(({ accountId }) => accountId),
      rows.map(({ traceId }) => traceId),
      rows.map(({ trace }) => trace.agent_id),
      rows.map(({ isAgentKnown }) => isAgentKnown),
      rows.map(({ trace }) => trace.name),
      rows.map(({ trace }) => trace.status),
      rows.map(({ trace }) => trace.started_at),
      rows.map(({ trace }) => trace.ended_at),
      binaryArray(
        "json",
        rows.map(({ trace }) => trace.metadata?.text ?? null),
      ),
      rows.map(({ idempotency }) => idempotency?.key),
      rows.map(({ idempotency }) => idempotency?.requestHash),
      plan.tracesPerMonth,
      rows.map(({ bytes }) => bytes),
      plan.bytesPerMonth,
    ],
  });
  const left = new Map<string, number>();
  // Backwards: the month's count after a trace is the final count less the traces after it.
  return rows
    .map((row, index) => ({ row, answer: answers[index] as Answer }))
    .reverse()
    .map(({ row, answer }): InsertResult => {
      const { accountId, traceId } = row;
      const { state, ids, traces, bytes, is_stored } = answer;
      if (state === "key_reused" || state === "key_in_use") return { outcome: state };
      if (state === "replayed") return { outcome: state, traceId: ids?.[0] ?? traceId, used: traces ?? 0 };
      if (!is_stored) return refusalOf(row, answer);
      const count = left.get(accountId) ?? traces ?? 0;
      left.set(accountId, count - 1);
      return { outcome: "created", traceId, used: count, usedBytes: bytes ?? 0 };
    })
    .reverse();
}
