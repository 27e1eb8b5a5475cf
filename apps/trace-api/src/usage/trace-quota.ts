import { AppError } from "@waymark/errors";
import { type Plan, remainingTraces, type UtcMonth, upgradePath } from "@waymark/plan";

/** An account's traces of the current UTC month. */
export interface TraceQuota {
  plan: Plan;
  month: UtcMonth;
  /** Traces created this month, the current one included. */
  used: number;
}

/** The headers of answers counting or refusing a trace. */
export const quotaHeaderNames = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** Those headers; `RateLimit-Reset` is in seconds. */
export function quotaHeaders(quota: TraceQuota): Record<(typeof quotaHeaderNames)[number], string> {
  return {
    "RateLimit-Limit": String(quota.plan.tracesPerMonth),
    "RateLimit-Remaining": String(remainingTraces(quota)),
    "RateLimit-Reset": String(quota.month.secondsLeft),
  };
}

/** The 403 for an agent beyond the plan's limit. */
export function agentLimitError(quota: TraceQuota): AppError {
  return new AppError("agent_limit", { details: { upgrade_url: upgradePath }, headers: quotaHeaders(quota) });
}

/** The 429 for a trace beyond the month's limit. */
export function traceLimitError(quota: TraceQuota): AppError {
  return new AppError("trace_limit", {
    details: { limit: quota.plan.tracesPerMonth, current: quota.used, upgrade_url: upgradePath },
    headers: { ...quotaHeaders(quota), "Retry-After": String(quota.month.secondsLeft) },
  });
}
