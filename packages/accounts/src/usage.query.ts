import type { PrismaClient } from "@waymark/database/prisma";
import { planOf, utcMonth } from "@waymark/plan";
import { findAccount } from "./accounts.js";

export interface Usage {
  account_id: string;
  email: string;
  plan: string;
  /** `YYYY-MM`, UTC. */
  month: string;
  traces: { current: number; limit: number };
  /** `limit` is null on a plan without a limit. */
  agents: { current: number; limit: number | null };
  resets_at: string;
  resets_in_seconds: number;
}

/** An account's use of its plan in the UTC month of `now`. @throws AccountError `unknown_account` */
export async function readUsage(prisma: PrismaClient, accountId: string, now: Date): Promise<Usage> {
  const account = await findAccount(prisma, accountId);
  const plan = planOf(account.plan);
  const { label, firstDay, secondsLeft, endsAt } = utcMonth(now);
  const month = new Date(`${firstDay}T00:00:00Z`);
  const usage = await prisma.traceUsage.findUnique({
    where: { accountId_month: { accountId: account.id, month } },
  });
  const agents = await prisma.agent.count({ where: { accountId: account.id } });
  return {
    account_id: account.id,
    email: account.email,
    plan: account.plan,
    month: label,
    traces: { current: usage?.traces ?? 0, limit: plan.tracesPerMonth },
    agents: { current: agents, limit: plan.agents },
    resets_at: endsAt,
    resets_in_seconds: secondsLeft,
  };
}
