import type pg from "pg";

/** One probe of `trace_usage_pkey`, and the account's range of `agent_pkey`, read without the table. */
const getUsageSql = `
  SELECT COALESCE((SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2), 0) AS traces,
    (SELECT count(*)::int FROM agent WHERE account_id = $1) AS agents`;

/** The statement for {@link getUsage}. */
export function getUsageStatement(accountId: string, month: string) {
  return { name: "get-usage", text: getUsageSql, values: [accountId, month] };
}

/**
 * What an account has used.
 * @param month the first day of the UTC month, `YYYY-MM-DD`
 */
export async function getUsage(
  pool: pg.Pool,
  accountId: string,
  month: string,
): Promise<{ traces: number; agents: number }> {
  const { rows } = await pool.query<{ traces: number; agents: number }>(getUsageStatement(accountId, month));
  return rows[0] ?? { traces: 0, agents: 0 };
}
