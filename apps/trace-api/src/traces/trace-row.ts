import { rowIsLocked } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/service/http";
import { type NewTrace, sizedTraceNames, textOf } from "@waymark/traces";
import type { KeyRefusal } from "../idempotency/key-state.js";
import { type BytesUsed, type CountedRequest, refusalOfBytes, storedBytes } from "../usage/stored-bytes.js";

/** A trace to store, and its limits. */
export interface TraceToCreate extends CountedRequest {
  accountId: string;
  traceId: string;
  trace: NewTrace;
  idempotency: IdempotencyKey | undefined;
  otlp?: OtlpOrigin;
}

/** The OpenTelemetry origin of a trace. A second trace with its id violates `trace_otel_trace_id_key`. */
interface OtlpOrigin {
  /** In hexadecimal. */
  traceId: string;
  /** Whether the trace stores and counts its agent. Otherwise the account has the agent, or it is provisional. */
  claimsAgent: boolean;
}

/** `used` is the month's count after the trace. A replay has the `traceId` of the first request. */
export type CreateTraceResult =
  | ({ outcome: "created"; traceId: string; used: number } & BytesUsed)
  | { outcome: "replayed"; traceId: string; used: number }
  | { outcome: "agent_limit"; used: number }
  | { outcome: "trace_limit"; used: number }
  | ({ outcome: "byte_limit"; used: number } & BytesUsed)
  | KeyRefusal;

/** The result of one trace of a statement; undefined if its month has capacity for some of the account's traces only. */
export type InsertResult = CreateTraceResult | typeof rowIsLocked | undefined;

/** A trace within the limit of agents. */
export interface TraceRow extends TraceToCreate {
  /** Whether the agent is stored already; otherwise the statement stores it with the trace. */
  isAgentKnown: boolean;
}

/** What a trace counts in its account's month. */
export function bytesOfTrace(trace: NewTrace): number {
  return storedBytes(sizedTraceNames.map((name) => textOf(trace[name])));
}

/** The month's counts as new as a statement knows them, null without a row. */
export interface MonthAnswer {
  traces: number | null;
  bytes: number | null;
  is_stored: boolean;
  has_lock: boolean;
}

/** The members of {@link MonthAnswer} of `account`, after the CTEs `locked` and `quota`; $1 is the month. */
export function monthAnswerSql(account: string): string {
  const newest = (column: "traces" | "bytes") => `COALESCE(quota.${column}, locked.${column}, (
    SELECT u.${column} FROM trace_usage u WHERE u.account_id = ${account}.account_id AND u.month = $1
  )) AS ${column}`;
  return `${newest("traces")}, ${newest("bytes")}, quota.account_id IS NOT NULL AS is_stored,
    locked.account_id IS NOT NULL AS has_lock`;
}

/** Says why a statement did not store an account's trace; the counts only rise. */
export function refusalOf(row: TraceRow, { traces, bytes, has_lock }: MonthAnswer): InsertResult {
  if (traces !== null && traces >= row.plan.tracesPerMonth) return { outcome: "trace_limit", used: traces };
  const refusal = refusalOfBytes(row, bytes);
  if (refusal !== rowIsLocked) return { ...refusal, used: traces ?? 0 };
  return traces !== null && !has_lock ? rowIsLocked : undefined;
}
