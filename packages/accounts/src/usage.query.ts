import { type PlanId, utcMonth } from "@waymark/plan";
import { getUsage, presentUsage } from "@waymark/traces";
import type pg from "pg";
import { findPlan } from "./plan.query.js";

export interface Usage {
  account_id: string;
  email: string;
  plan: PlanId;
  /** `YYYY-MM`, UTC. */
  month: string;
  traces: { current: number; limit: number };
  /** Stored in the month; deletion gives none back. */
  bytes: { current: number; limit: number };
  /** `limit` is null on a plan without a limit. */
  agents: { current: number; limit: number | null };
  resets_at: string;
  resets_in_seconds: number;
}

/** An account's use of its plan in the UTC month of `now`, as `GET /usage` of the trace API. @throws AccountError `unknown_account` */
export async function readPlanUsage(pool: pg.Pool, accountId: string, now: Date) {
  const { plan } = await findPlan(pool, accountId);
  const month = utcMonth(now);
  return presentUsage(plan, await getUsage(pool, { accountId, month: month.firstDay }), month);
}

/** The same for the command line. @throws AccountError `unknown_account` */
export async function readUsage(pool: pg.Pool, accountId: string, now: Date): Promise<Usage> {
  const { email } = await findPlan(pool, accountId);
  const { plan, month, traces, bytes, agents } = await readPlanUsage(pool, accountId, now);
  return {
    account_id: accountId,
    email,
    plan,
    month,
    traces: { current: traces.current, limit: traces.limit },
    bytes: { current: bytes.current, limit: bytes.limit },
    agents: { current: agents.current, limit: agents.limit },
    resets_at: traces.resets_at,
    resets_in_seconds: utcMonth(now).secondsLeft,
  };
}
