import { validationError } from "@waymark/errors";
import type pg from "pg";
import { z } from "zod";
import { isoText } from "../field-table.js";
import { maxCountedTraces } from "../paging.js";
import type { LabelCondition } from "../trace-fields.js";
import { countedCallsSql, settleCalls } from "./settle-calls.query.js";

export const costSchema = z.string().nullable().describe("Dollars as a decimal number; null if no call has a price");

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

/** Whether a counted call is one of a trace with labels. */
export const ofLabelsSql = (labels: string) =>
  `EXISTS (SELECT FROM trace t WHERE t.account_id = $1 AND t.id = counted.trace_id AND ${labels})`;

const daysSql = (key: string, agents: string) => `SELECT ${key} AS key, ${daySumsSql} FROM model_day
    WHERE account_id = $1 AND agent_id ${agents} AND day >= $3::timestamptz::date AND day < $4::timestamptz GROUP BY 1`;
const callsSql = (key: string, agents: string, where: string) => `SELECT ${key} AS key, ${sumsSql("count(cost)")}
    FROM ${countedCallsSql} WHERE account_id = $1 AND agent_id ${agents} AND ${where} GROUP BY 1`;
const inHours = "started_at >= $3 AND started_at < $4";
const inDays = `started_at >= date_trunc('day', $3::timestamptz)
      AND started_at < $4::timestamptz + interval '1 day' AND date_trunc('day', started_at) < $4::timestamptz`;
const startOf = (interval: string) => isoText(`date_trunc('${interval}', started_at)`);

/** Ranges: of `model_day_pkey` for days, which are whole ones; of `model_call_agent_idx` for hours and, with probes of `trace_pkey`, labels. */
const sqlOf = {
  day: (labels) =>
    labels ? callsSql(startOf("day"), "= $2", `${inDays} AND ${labels}`) : daysSql(isoText("day::timestamptz"), "= $2"),
  hour: (labels = "true") => callsSql(startOf("hour"), "= $2", `${inHours} AND ${labels}`),
  agent: (labels) =>
    labels ? callsSql("agent_id", "= ANY ($2)", `${inDays} AND ${labels}`) : daysSql("agent_id", "= ANY ($2)"),
} as const satisfies Record<string, (labels?: string) => string>;

interface CallsToSum {
  accountId: string;
  from: string;
  to: string;
  labels?: LabelCondition | undefined;
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
): Promise<Map<string, TokenSums>> {
  return readSums(pool, "agent", calls, agentIds);
}

async function readSums(
  pool: pg.Pool,
  by: keyof typeof sqlOf,
  { accountId, from, to, labels }: CallsToSum,
  agents: string | readonly string[],
): Promise<Map<string, TokenSums>> {
  await settleCalls(pool, accountId);
  const text = sqlOf[by](labels && ofLabelsSql(labels.sql(5)));
  const values = [accountId, agents, from, to, ...(labels?.values ?? [])];
  const statement = { name: `read-tokens-by-${by}${labels ? "-of-labels" : ""}`, text, values };
  const { rows } = await pool.query<TokenSums & { key: string }>(statement);
  return new Map(rows.map(({ key, ...sums }) => [key, sums]));
}

/** Calls of an answer: some two seconds. */
export const maxSummedCalls = 500_000;

/** A range of `model_day_pkey`, and at most $5 entries of `trace_listing_idx`. */
const countSql = `
  SELECT (SELECT COALESCE(sum(calls), 0)::float8 FROM model_day
      WHERE account_id = $1 AND day >= $2::timestamptz::date AND day < $3::timestamptz AND ($4::text IS NULL OR agent_id = $4)) AS calls,
    (SELECT count(*)::int FROM (SELECT FROM trace
      WHERE account_id = $1 AND started_at >= $2::timestamptz AND started_at < $3::timestamptz
        AND ($4::text IS NULL OR agent_id = $4)
      ORDER BY started_at, id LIMIT $5) t) AS traces`;

/** Bounds what a sum over traces and calls reads. @param range of an agent, or of all @throws AppError 400 */
export async function checkAmount(
  pool: pg.Pool,
  { accountId, from, to, agentId }: { accountId: string; from: string; to: string; agentId?: string | undefined },
): Promise<void> {
  const values = [accountId, from, to, agentId ?? null, maxCountedTraces + 1];
  const { rows } = await pool.query<{ calls: number; traces: number }>({
    name: "check-amount",
    text: countSql,
    values,
  });
  for (const [name, most] of [
    ["traces", maxCountedTraces],
    ["calls", maxSummedCalls],
  ] as const)
    if ((rows[0]?.[name] ?? 0) > most)
      throw validationError({ from: `Must be later: the days have more than ${most.toLocaleString("en")} ${name}` });
}
