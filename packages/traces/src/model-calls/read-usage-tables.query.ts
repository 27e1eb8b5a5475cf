import type pg from "pg";
import type { ModelUsageToRead } from "./read-model-usage.query.js";
import { settleCalls } from "./settle-calls.query.js";

/** Lengths of time that sums are by; a week begins on Monday. */
export const usageIntervals = ["day", "week", "month"] as const;

interface UsageSums {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  /** A decimal number of dollars; null if no call has a price. */
  cost_usd: string | null;
}

export interface UsageTables {
  total: UsageSums;
  /** Most expensive first. */
  models: ({ provider: string | null; model: string | null } & UsageSums)[];
  agents: ({ agent_id: string } & UsageSums)[];
  /** By the first day of each interval with calls. */
  series: ({ day: string } & UsageSums)[];
}

/** Rows of a table at most. */
const maxRows = 1_000;

const sum = (column: string) => `COALESCE(sum(${column}), 0)::float8 AS ${column}`;

/** A range of `model_day_pkey`: it starts with the account and the day. */
const readTablesSql = `
  SELECT GROUPING(provider, agent_id, started) AS grouped, provider, model, agent_id, started::date::text AS day, ${sum("calls")},
    ${sum("input_tokens")}, ${sum("output_tokens")}, ${sum("cached_input_tokens")},
    CASE WHEN sum(priced_calls) > 0 THEN trim_scale(sum(cost))::text END AS cost_usd
  FROM (
    SELECT *, date_trunc($5, day::timestamp) AS started FROM model_day
    WHERE account_id = $1 AND day >= $2::date AND day < $3::date AND ($4::text IS NULL OR agent_id = $4)
  ) AS days
  GROUP BY GROUPING SETS ((), (provider, model), (agent_id), (started)) HAVING sum(calls) > 0
  ORDER BY started, sum(cost) DESC, sum(input_tokens + output_tokens) DESC, provider, model, agent_id`;

/** The values of GROUPING: a bit is set for each column that is not grouped by. */
const groupings = { total: 7, models: 3, agents: 5, series: 6 } as const;

type Row = UsageSums & Record<"provider" | "model" | "agent_id" | "day", string | null> & { grouped: number };

/** Sums of model calls in all, by model, by agent and over time. Settles calls first. */
export async function readUsageTables(
  pool: pg.Pool,
  { interval, ...read }: ModelUsageToRead & { interval: (typeof usageIntervals)[number] },
): Promise<UsageTables> {
  await settleCalls(pool, read.accountId);
  const values = [read.accountId, read.from, read.to, read.agentId ?? null, interval];
  const { rows } = await pool.query<Row>({ name: "read-usage-tables", text: readTablesSql, values });
  const of = (name: keyof typeof groupings) => rows.filter(({ grouped }) => grouped === groupings[name]);
  const [total] = of("total");
  return {
    total: total
      ? sumsOf(total)
      : { calls: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost_usd: null },
    models: of("models")
      .slice(0, maxRows)
      .map((row) => ({ provider: row.provider || null, model: row.model || null, ...sumsOf(row) })),
    agents: of("agents")
      .slice(0, maxRows)
      .map((row) => ({ agent_id: row.agent_id ?? "", ...sumsOf(row) })),
    series: of("series").map((row) => ({ day: row.day ?? "", ...sumsOf(row) })),
  };
}

function sumsOf({ calls, input_tokens, output_tokens, cached_input_tokens, cost_usd }: Row): UsageSums {
  return { calls, input_tokens, output_tokens, cached_input_tokens, cost_usd };
}
