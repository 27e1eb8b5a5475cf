import { type PlanId, planOf, remainingBytes, remainingTraces, type UtcMonth } from "@waymark/plan";
import type pg from "pg";
import type { Kept } from "./keep/keep.query.js";

interface Used extends Kept {
  traces: number;
  bytes: number;
  dropped: number;
  agents: number;
}

/** Three probes of `trace_usage_pkey`, two of `account_pkey`, and the account's range of `agent_pkey` without the table. */
const getUsageSql = `
  SELECT COALESCE((SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2), 0) AS traces,
    COALESCE((SELECT bytes FROM trace_usage WHERE account_id = $1 AND month = $2), 0) AS bytes,
    COALESCE((SELECT dropped FROM trace_usage WHERE account_id = $1 AND month = $2), 0) AS dropped,
    COALESCE((SELECT keep FROM account WHERE id = $1), 'all') AS keep,
    COALESCE((SELECT leave_out FROM account WHERE id = $1), '{}') AS leave_out,
    (SELECT count(*)::int FROM agent WHERE account_id = $1) AS agents`;

const noUse: Used = { traces: 0, bytes: 0, dropped: 0, agents: 0, keep: "all", leave_out: [] };

/** The limits of an account's plan and their use in a month; zeros for an unknown account. */
export async function getUsage(
  pool: pg.Pool,
  { accountId, plan: planId, month }: { accountId: string; plan: PlanId; month: UtcMonth },
) {
  const values = [accountId, month.firstDay];
  const { rows } = await pool.query<Used>({ name: "get-usage", text: getUsageSql, values });
  const [used = noUse] = rows;
  const plan = planOf(planId);
  return {
    plan: planId,
    month: month.label,
    traces: {
      limit: plan.tracesPerMonth,
      current: used.traces,
      remaining: remainingTraces({ plan, used: used.traces }),
      resets_at: month.endsAt,
    },
    keep: used.keep,
    leave_out: used.leave_out,
    dropped: { traces: used.dropped, since: `${month.firstDay}T00:00:00.000Z` },
    bytes: {
      limit: plan.bytesPerMonth,
      current: used.bytes,
      remaining: remainingBytes({ plan, usedBytes: used.bytes }),
    },
    agents: { limit: plan.agents, current: used.agents },
    retention_days: plan.retentionDays,
  };
}

/** Reads the account's trace count of a month. One probe of `trace_usage_pkey`. */
const readUsedTracesSql = "SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2";

export async function readUsedTraces(
  db: pg.Pool | pg.PoolClient,
  { accountId, month }: { accountId: string; month: string },
): Promise<number> {
  const { rows } = await db.query<{ traces: number }>(readUsedTracesSql, [accountId, month]);
  return rows[0]?.traces ?? 0;
}
