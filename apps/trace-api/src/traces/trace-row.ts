import { rowIsLocked } from "@waymark/database";
import type { IdempotencyKey } from "@waymark/http";
import type { Plan } from "@waymark/plan";
import type { KeyRefusal } from "../idempotency/key-state.js";
import type { NewTrace } from "./trace.schema.js";

/** A trace to be stored, and the limits that hold for it. */
export interface TraceToCreate {
  accountId: string;
  traceId: string;
  /** The first day of the UTC month that the trace counts in, `YYYY-MM-DD`. */
  month: string;
  plan: Plan;
  trace: NewTrace;
  idempotency: IdempotencyKey | undefined;
  otlp?: OtlpOrigin;
}

/** Where a trace comes from OpenTelemetry. A second trace with the same id violates `trace_otel_trace_id_key`. */
export interface OtlpOrigin {
  /** In hexadecimal. */
  traceId: string;
  /** Whether the agent is to be stored and counted. Otherwise it is stored already, or a name only until it is settled. */
  claimsAgent: boolean;
}

/** Its outcome; `used` is the month's count after it, `traceId` of a replay the id of the first request. */
export type CreateTraceResult =
  | { outcome: "created" | "replayed"; traceId: string; used: number }
  | { outcome: "agent_limit"; used: number }
  | { outcome: "trace_limit"; used: number }
  | KeyRefusal;

/** A statement's result for a trace; undefined where the account has room left but not for all its traces there. */
export type InsertResult = CreateTraceResult | typeof rowIsLocked | undefined;

/** A trace whose agent the plan allows. */
export interface TraceRow extends TraceToCreate {
  /** Whether the agent is stored already; otherwise it is stored with the trace. */
  isAgentKnown: boolean;
}

/** Locks the rows of the month ($1) that the accounts ($2) have, as `locked`; each a probe of `trace_usage_pkey`. */
export function lockedUsageSql(wait: "" | "SKIP LOCKED"): string {
  return `locked AS MATERIALIZED (
    SELECT u.account_id FROM trace_usage u WHERE u.account_id = ANY($2::uuid[]) AND u.month = $1
    ORDER BY u.account_id FOR NO KEY UPDATE ${wait}
  )`;
}

/** Whether this transaction has the lock on an account's month, or there is no row yet that anybody could lock. */
export function hasUsageLockSql(account: string): string {
  return `(EXISTS (SELECT FROM locked WHERE locked.account_id = ${account})
      OR NOT EXISTS (SELECT FROM trace_usage o WHERE o.account_id = ${account} AND o.month = $1))`;
}

/**
 * Why an account's traces were not stored.
 * @param seen the month's count in the statement's snapshot; it only rises
 */
export function refusalOf(seen: number | null, hasLock: boolean, limit: number): InsertResult {
  if (seen !== null && seen >= limit) return { outcome: "trace_limit", used: seen };
  return seen !== null && !hasLock ? rowIsLocked : undefined;
}
