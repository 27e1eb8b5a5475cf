import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import {
  type Plan,
  planOf,
  remainingBytes,
  remainingTraces,
  type UtcMonth,
  upgradePath,
  utcMonth,
} from "@waymark/plan";
import { type DocumentedAnswer, errorSchema } from "@waymark/service/http";
import { byteLimit } from "@waymark/traces";
import type { Response } from "express";
import { z } from "zod";

/** An account, its plan, and the UTC month that counts its request. */
export interface Sender {
  accountId: string;
  plan: Plan;
  month: UtcMonth;
  /** Whether the account keeps traces of agents alone. */
  keepsAgents: boolean;
  /** The instrumentations whose spans it leaves out. */
  leaveOut: readonly string[];
}

export function senderOf(response: Response, now: Date): Sender {
  const { accountId, plan, keep, leaveOut = [] } = principalOf(response);
  return { accountId, plan: planOf(plan), month: utcMonth(now), keepsAgents: keep === "agents", leaveOut };
}

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

/** The headers of answers to requests that store contents. */
export const byteHeaderNames = ["Waymark-Bytes-Limit", "Waymark-Bytes-Remaining"] as const;

/** Those headers, of the month without what it counts ahead; none where the request stored nothing. */
export function byteHeaders(
  { plan }: Pick<Sender, "plan">,
  result: object,
  ahead = 0,
): Readonly<Record<string, string>> {
  if (!("usedBytes" in result) || typeof result.usedBytes !== "number") return {};
  return {
    "Waymark-Bytes-Limit": String(plan.bytesPerMonth),
    "Waymark-Bytes-Remaining": String(remainingBytes({ plan, usedBytes: result.usedBytes - ahead })),
  };
}

/** The 429 for contents beyond the month's limit of bytes. */
export function byteLimitError({ plan, month }: Pick<Sender, "plan" | "month">, usedBytes: number): AppError {
  const { code, details } = byteLimit(plan, usedBytes);
  return new AppError(code, {
    details,
    headers: { ...byteHeaders({ plan }, { usedBytes }), "Retry-After": String(month.secondsLeft) },
  });
}

export const agentLimitReached: DocumentedAnswer = {
  description: "A Free account has its one agent, and this trace names another; or the key's scope is `read`",
  schema: errorSchema({ upgrade_url: z.string().optional() }),
  example: { error: "Free plan limited to 1 agent", upgrade_url: upgradePath },
  headers: [...quotaHeaderNames, "WWW-Authenticate"],
};

const usedUpSchema = errorSchema({
  reason: z.string().optional(),
  limit: z.number().optional(),
  current: z.number().optional(),
  upgrade_url: z.string().optional(),
});

/** The 429 of creating a trace. */
export const monthIsUsedUp: DocumentedAnswer = {
  description: "The month's traces are used up, its bytes (`reason` is `stored_bytes`), or a share of the service",
  schema: usedUpSchema,
  example: {
    error: "Monthly trace limit reached. Upgrade to Pro.",
    limit: 1000,
    current: 1000,
    upgrade_url: upgradePath,
  },
  headers: [...quotaHeaderNames, "Retry-After"],
};

/** The 429 of storing anything else. */
export const bytesAreUsedUp: DocumentedAnswer = {
  description: "The month's bytes (`reason` is `stored_bytes`, and deleting gives none back) or a share are used up",
  schema: usedUpSchema,
  example: {
    error: "Monthly storage limit reached. Upgrade to Pro.",
    reason: "stored_bytes",
    limit: 256_000_000,
    current: 255_999_000,
    upgrade_url: upgradePath,
  },
  headers: [...byteHeaderNames, "Retry-After"],
};
