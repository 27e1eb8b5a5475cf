import type pg from "pg";

/** Reads the account's trace count of a month. One probe of `trace_usage_pkey`. */
const readUsedTracesSql = "SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2";

/**
 * Reads how many traces an account created in a month.
 * @param month its first day in UTC, `YYYY-MM-DD`
 */
export async function readUsedTraces(
  db: pg.Pool | pg.PoolClient,
  { accountId, month }: { accountId: string; month: string },
): Promise<number> {
  const { rows } = await db.query<{ traces: number }>(readUsedTracesSql, [accountId, month]);
  return rows[0]?.traces ?? 0;
}
