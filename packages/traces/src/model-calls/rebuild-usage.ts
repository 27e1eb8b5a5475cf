import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { countedCallsSql, lockCalls, settleCalls, settleTraces } from "./settle-calls.query.js";

/** The shortest retention keeps the calls of these days. */
const comparedDays = 29;

const amounts =
  "calls, priced_calls, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost";

/** The sums of the calls since $2. A range of the account's `model_call_pkey`. */
const countedSql = `
  SELECT account_id, started_at::date AS day, agent_id, provider, model, count(*) AS calls, count(cost) AS priced_calls,
    COALESCE(sum(input_tokens), 0)::bigint AS input_tokens, COALESCE(sum(output_tokens), 0)::bigint AS output_tokens,
    COALESCE(sum(cached_input_tokens), 0)::bigint AS cached_input_tokens,
    COALESCE(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    COALESCE(sum(reasoning_tokens), 0)::bigint AS reasoning_tokens, COALESCE(sum(cost), 0) AS cost
  FROM ${countedCallsSql} WHERE account_id = $1 AND started_at >= $2::date GROUP BY 1, 2, 3, 4, 5`;

/** Stored and counted sums that differ, by day. */
const differencesSql = `
  WITH counted AS (${countedSql}), stored AS (SELECT * FROM model_day WHERE account_id = $1 AND day >= $2::date AND calls <> 0)
  SELECT day::text, agent_id, provider, model, s.calls::float8 AS stored_calls, c.calls::float8 AS counted_calls
  FROM stored s FULL JOIN counted c USING (account_id, day, agent_id, provider, model)
  WHERE (${amounts.replace(/\w+/g, "s.$&")}) IS DISTINCT FROM (${amounts.replace(/\w+/g, "c.$&")})
  ORDER BY day, agent_id, provider, model`;

const removeDaysSql = "DELETE FROM model_day WHERE account_id = $1 AND day >= $2::date";
const insertDaysSql = `
  INSERT INTO model_day (account_id, day, agent_id, provider, model, ${amounts}) SELECT * FROM (${countedSql}) AS sums`;

interface UsageDifference {
  day: string;
  agent_id: string;
  provider: string;
  model: string;
  stored_calls: number | null;
  counted_calls: number | null;
}

interface UsageComparison {
  /** Settled calls that counted and should not, or the reverse. */
  calls: number;
  sums: UsageDifference[];
}

const undo = Symbol("a check changes nothing");

/**
 * Counts an account's settled calls again, and compares the daily sums of the last {@link comparedDays} days with them.
 * Earlier days stay: their calls may be gone.
 * @param isCheck leaves differences in place
 */
export async function rebuildUsage(
  pool: pg.Pool,
  accountId: string,
  { isCheck, now }: { isCheck: boolean; now: Date },
): Promise<UsageComparison> {
  await settleCalls(pool, accountId);
  const firstDay = new Date(now.getTime() - comparedDays * 86_400_000).toISOString().slice(0, 10);
  const values = [accountId, firstDay];
  let comparison: UsageComparison = { calls: 0, sums: [] };
  const work = withTransaction(pool, async (client) => {
    await lockCalls(client, accountId);
    const differences = async () => (await client.query<UsageDifference>(differencesSql, values)).rows;
    const sums = await differences();
    let calls = 0;
    for (let after: string | null = smallestUuid; after !== null; ) {
      const settled = await settleTraces(client, "settled", accountId, after);
      calls += settled.changed;
      after = settled.last;
    }
    comparison = { calls, sums };
    if (isCheck) throw undo;
    if (calls === 0 && sums.length === 0) return;
    await client.query(removeDaysSql, values);
    await client.query(insertDaysSql, values);
  });
  await work.catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return comparison;
}
