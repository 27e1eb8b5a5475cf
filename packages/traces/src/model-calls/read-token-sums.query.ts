import type pg from "pg";
import { z } from "zod";
import { isoText } from "../field-table.js";
import type { LabelCondition } from "../trace-fields.js";
import { countedCallsSql, settleCalls } from "./settle-calls.query.js";

export const costSchema = z.string().nullable().describe("Dollars as a decimal number; null if no call has a price");

/** Tokens and cost of some model calls. */
export const tokenSumsSchema = z.object({ input_tokens: z.number(), output_tokens: z.number(), cost_usd: costSchema });

type TokenSums = z.output<typeof tokenSumsSchema>;

export const noTokens: TokenSums = { input_tokens: 0, output_tokens: 0, cost_usd: null };

/** The sum of a column of tokens or calls. */
export const sumSql = (column: string) => `COALESCE(sum(${column}), 0)::float8 AS ${column}`;
export const costSql = (pricedCalls: string) =>
  `CASE WHEN ${pricedCalls} > 0 THEN trim_scale(sum(cost))::text END AS cost_usd`;
const sumsSql = (pricedCalls: string) => `${sumSql("input_tokens")},
    ${sumSql("output_tokens")},
    ${costSql(pricedCalls)}`;
const daySumsSql = sumsSql("sum(priced_calls)");

/** Ranges: of `model_day_pkey` for days, which are whole ones; of `model_call_agent_idx` for hours and, with probes of `trace_pkey`, labels. */
const sqlOf = {
  day: `SELECT ${isoText("day::timestamptz")} AS key, ${daySumsSql} FROM model_day
    WHERE account_id = $1 AND agent_id = $2 AND day >= $3::timestamptz::date AND day < $4::timestamptz GROUP BY day`,
  hour: `SELECT ${isoText("date_trunc('hour', started_at)")} AS key, ${sumsSql("count(cost)")} FROM ${countedCallsSql}
    WHERE account_id = $1 AND agent_id = $2 AND started_at >= $3 AND started_at < $4
    GROUP BY date_trunc('hour', started_at)`,
  agent: `SELECT agent_id AS key, ${daySumsSql} FROM model_day
    WHERE account_id = $1 AND agent_id = ANY ($2) AND day >= $3::timestamptz::date AND day < $4::timestamptz GROUP BY agent_id`,
  labels: (labels: string) => `SELECT agent_id AS key, ${sumsSql("count(cost)")} FROM ${countedCallsSql}
    WHERE account_id = $1 AND agent_id = ANY ($2) AND started_at >= date_trunc('day', $3::timestamptz)
      AND started_at < $4::timestamptz + interval '1 day' AND date_trunc('day', started_at) < $4::timestamptz AND EXISTS (
        SELECT FROM trace t WHERE t.account_id = $1 AND t.id = counted.trace_id AND ${labels}
      ) GROUP BY agent_id`,
} as const;

interface CallsToSum {
  accountId: string;
  from: string;
  to: string;
}

/** Sums an agent's calls by the beginning of hour or day. Settles them first. */
export function readTokensOverTime(
  pool: pg.Pool,
  { agentId, interval, ...calls }: CallsToSum & { agentId: string; interval: "hour" | "day" },
): Promise<Map<string, TokenSums>> {
  return readSums(pool, interval, calls, agentId);
}

/** Sums the calls of agents in the days that the range touches. Settles them first. */
export function readTokensByAgent(
  pool: pg.Pool,
  calls: CallsToSum,
  agentIds: readonly string[],
  labels?: LabelCondition,
): Promise<Map<string, TokenSums>> {
  return readSums(pool, labels ? "labels" : "agent", calls, agentIds, labels);
}

async function readSums(
  pool: pg.Pool,
  by: keyof typeof sqlOf,
  { accountId, from, to }: CallsToSum,
  agents: string | readonly string[],
  labels?: LabelCondition,
): Promise<Map<string, TokenSums>> {
  await settleCalls(pool, accountId);
  const sql = sqlOf[by];
  const text = typeof sql === "string" ? sql : sql(labels?.sql(5) ?? "true");
  const values = [accountId, agents, from, to, ...(labels?.values ?? [])];
  const statement = { name: `read-tokens-by-${by}`, text, values };
  const { rows } = await pool.query<TokenSums & { key: string }>(statement);
  return new Map(rows.map(({ key, ...sums }) => [key, sums]));
}
