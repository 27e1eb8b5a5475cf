import { type NewTrace, rowSql, traceColumns } from "@waymark/traces";
import type pg from "pg";
import type { InsertResult, TraceRow } from "./trace-row.js";

const columns = traceColumns<NewTrace>((trace) => trace);
const names = Object.keys(columns);
const bytesAt = 5 + names.length;

/**
 * Does the same as `insertTracesSql` for one trace of a stored agent, without arrays: Postgres takes about half the time.
 * Stores nothing if the month has no row, is full, or is locked. Two probes of `trace_usage_pkey`, one of `trace_pkey`.
 */
const insertOneTrace = {
  name: "insert-one-trace",
  text: `
    WITH locked AS MATERIALIZED (
      SELECT FROM trace_usage WHERE account_id = $1 AND month = $2 FOR NO KEY UPDATE SKIP LOCKED
    ), quota AS (
      UPDATE trace_usage SET traces = traces + 1, bytes = bytes + $${bytesAt}
      WHERE account_id = $1 AND month = $2 AND traces < $3 AND bytes + $${bytesAt} <= $12 AND EXISTS (SELECT FROM locked)
      RETURNING traces, bytes
    ), stored AS (
      INSERT INTO trace (account_id, id, ${names.join(", ")})
      SELECT $1, $4::uuid, ${rowSql(5, columns)} FROM quota
    )
    SELECT traces, bytes FROM quota`,
} as const;

export function isStoredAlone(rows: readonly TraceRow[]): rows is readonly [TraceRow] {
  const [row] = rows;
  return rows.length === 1 && row?.isAgentKnown === true && !row.idempotency && !row.otlp;
}

/** Stores a trace; undefined where a statement for many traces has to decide. */
export async function tryInsertTrace(
  db: pg.Pool | pg.PoolClient,
  { accountId, traceId, month, plan, trace, bytes }: TraceRow,
): Promise<InsertResult> {
  const fields = Object.values(columns).map(({ of }) => of(trace));
  const { rows } = await db.query<[traces: number, bytes: number]>({
    ...insertOneTrace,
    rowMode: "array",
    values: [accountId, month, plan.tracesPerMonth, traceId, ...fields, bytes, plan.bytesPerMonth],
  });
  const [stored] = rows;
  return stored && { outcome: "created", traceId, used: stored[0], usedBytes: stored[1] };
}
