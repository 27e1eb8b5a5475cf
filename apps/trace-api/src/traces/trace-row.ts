import { rowIsLocked } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/http";
import type { Plan } from "@waymark/plan";
import { type OnLock, skipLockedSql } from "../batching/on-lock.js";
import type { KeyRefusal } from "../idempotency/key-state.js";
import type { NewTrace } from "./trace.schema.js";

/** A trace to store, and its limits. */
export interface TraceToCreate {
  accountId: string;
  traceId: string;
  /** First day of the UTC month of receipt, `YYYY-MM-DD`. */
  month: string;
  plan: Plan;
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
  | { outcome: "created" | "replayed"; traceId: string; used: number }
  | { outcome: "agent_limit"; used: number }
  | { outcome: "trace_limit"; used: number }
  | KeyRefusal;

/** The result of one trace of a statement; undefined if its month has capacity for some of the account's traces only. */
export type InsertResult = CreateTraceResult | typeof rowIsLocked | undefined;

/** A trace within the limit of agents. */
export interface TraceRow extends TraceToCreate {
  /** Whether the agent is stored already; otherwise the statement stores it with the trace. */
  isAgentKnown: boolean;
}

/** A CTE `locked`: the month's ($1) rows of the accounts ($2), locked in the order of accounts. Probes `trace_usage_pkey`. */
export function lockedUsageSql(onLock: OnLock): string {
  return `locked AS MATERIALIZED (
    SELECT u.account_id FROM trace_usage u WHERE u.account_id = ANY($2::uuid[]) AND u.month = $1
    ORDER BY u.account_id FOR NO KEY UPDATE ${skipLockedSql(onLock)}
  )`;
}

/** Whether this transaction has locked the account's month, or the month has no row yet. */
export function hasUsageLockSql(account: string): string {
  return `(EXISTS (SELECT FROM locked WHERE locked.account_id = ${account})
      OR NOT EXISTS (SELECT FROM trace_usage o WHERE o.account_id = ${account} AND o.month = $1))`;
}

/**
 * Says why a statement did not store an account's traces.
 * @param seen the month's count in the statement's snapshot; it only rises
 */
export function refusalOf(seen: number | null, hasLock: boolean, limit: number): InsertResult {
  if (seen !== null && seen >= limit) return { outcome: "trace_limit", used: seen };
  return seen !== null && !hasLock ? rowIsLocked : undefined;
}
