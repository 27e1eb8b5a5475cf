import { planOf } from "@waymark/plan";
import { type Columns, columnArrays, traceColumns, unnestSql } from "@waymark/traces";
import type pg from "pg";
import type { OnLock } from "../batching/on-lock.js";
import { keyStateSql } from "../idempotency/key-state.js";
import { hasUsageLockSql, lockedUsageSql } from "../usage/stored-bytes.js";
import { type InsertResult, type MonthAnswer, monthAnswerSql, refusalOf, type TraceRow } from "./trace-row.js";

const stored = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  id: { type: "uuid", of: ({ traceId }) => traceId },
  ...traceColumns<TraceRow>(({ trace }) => trace),
} satisfies Columns<TraceRow>;
const columns: Columns<TraceRow> = {
  ...stored,
  is_agent_known: { type: "boolean", of: ({ isAgentKnown }) => isAgentKnown },
  bytes: { type: "int", of: ({ bytes }) => bytes },
  key: { type: "text", of: ({ idempotency }) => idempotency?.key },
  request_hash: { type: "bytea", of: ({ idempotency }) => idempotency?.requestHash },
};
const names = Object.keys(stored).join(", ");

/**
 * Does the same as `insertTracesSql` for traces with idempotency keys. Only traces with a new key count and are stored,
 * each with its key in one transaction: the key is stored exactly when its trace is. The keys of a refused account stay
 * free. One further probe of `idempotency_key_pkey` per trace.
 */
const insertIdempotentTracesSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$4::uuid[]", month: "$1" })}, asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state FROM ${unnestSql(4, columns, { hasPosition: true })}
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
  ), quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, $1, count(*)::int, sum(bytes) FROM asked WHERE state = 'new' AND ${hasUsageLockSql("asked.account_id", "$1")}
    GROUP BY account_id HAVING count(*) <= $2 AND sum(bytes) <= $3 ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces, bytes = u.bytes + excluded.bytes
      WHERE u.traces + excluded.traces <= $2 AND u.bytes + excluded.bytes <= $3
    RETURNING account_id, traces, bytes
  ), granted AS (
    SELECT asked.* FROM asked JOIN quota USING (account_id) WHERE state = 'new'
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, agent_id FROM granted WHERE NOT is_agent_known ORDER BY account_id, agent_id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (${names}) SELECT ${names} FROM granted
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
    values: [month, plan.tracesPerMonth, plan.bytesPerMonth, ...columnArrays(rows, columns)],
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
