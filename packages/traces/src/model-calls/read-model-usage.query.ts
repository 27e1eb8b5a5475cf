import type pg from "pg";
import { countedCallsSql } from "./counted-calls.js";

interface Sums {
  input_tokens: number;
  output_tokens: number;
  /** A decimal number of dollars; null if no call has a price. */
  cost_usd: string | null;
}

interface ModelSums extends Sums {
  provider: string | null;
  model: string | null;
  calls: number;
  cached_input_tokens: number;
  cache_write_tokens?: number;
  reasoning_tokens?: number;
}

interface DaySums extends Sums {
  day: string;
}

export interface ModelUsageToRead {
  accountId: string;
  /** Days, `YYYY-MM-DD` in UTC: `from` (included) to `to` (excluded). */
  from: string;
  to: string;
  agentId?: string | undefined;
}

export interface ModelUsage {
  models: ModelSums[];
  series: DaySums[];
}

/** Models of an answer, those with most tokens. */
const maxModels = 1_000;

const sum = (column: string) => `COALESCE(sum(${column}), 0)::float8 AS ${column}`;
const sumsSql = `${sum("input_tokens")}, ${sum("output_tokens")}, ${sum("cached_input_tokens")},
    ${sum("cache_write_tokens")}, ${sum("reasoning_tokens")}`;
const costSql = (pricedCalls: string) =>
  `CASE WHEN ${pricedCalls} > 0 THEN trim_scale(sum(cost))::text END AS cost_usd`;

/** A row for each model and each day. A range of `model_day_pkey`: it starts with the account and the day. */
const readModelUsageSql = `
  SELECT day::text, provider, model, sum(calls)::float8 AS calls, ${sumsSql}, ${costSql("sum(priced_calls)")}
  FROM model_day
  WHERE account_id = $1 AND day >= $2::date AND day < $3::date AND ($4::text IS NULL OR agent_id = $4)
  GROUP BY GROUPING SETS ((day), (provider, model)) HAVING sum(calls) > 0
  ORDER BY day, sum(input_tokens + output_tokens) DESC, provider, model`;

interface Row extends Sums {
  day: string | null;
  provider: string | null;
  model: string | null;
  calls: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
}

/** Sums by model and by day, for settled calls: see `settleCalls`. Days without calls have no entry. */
export async function readModelUsage(pool: pg.Pool, read: ModelUsageToRead): Promise<ModelUsage> {
  const values = [read.accountId, read.from, read.to, read.agentId ?? null];
  const { rows } = await pool.query<Row>({ name: "read-model-usage", text: readModelUsageSql, values });
  return {
    models: rows
      .filter(({ day }) => day === null)
      .slice(0, maxModels)
      .map(presentModel),
    series: rows.flatMap(({ day, input_tokens, output_tokens, cost_usd }) =>
      day === null ? [] : [{ day, input_tokens, output_tokens, cost_usd }],
    ),
  };
}

/** The trace's range of `model_call_pkey`: the whole, and a row for each model. */
const readTraceUsageSql = `
  SELECT NULL AS day, provider, model, count(*)::float8 AS calls, ${sumsSql}, ${costSql("count(cost)")},
    GROUPING(model) = 1 AS is_whole, bool_or(lacks_price) AS lacks_prices
  FROM ${countedCallsSql} WHERE account_id = $1 AND trace_id = $2
  GROUP BY GROUPING SETS ((), (provider, model))
  ORDER BY is_whole DESC, sum(input_tokens + output_tokens) DESC NULLS LAST, provider, model`;

export interface TraceUsage extends Sums {
  cached_input_tokens: number;
  models: ModelSums[];
  /** Models of calls without a price. */
  unpriced_models: string[];
}

/** A trace's settled model calls; zeros without any. */
export async function readTraceUsage(pool: pg.Pool, accountId: string, traceId: string): Promise<TraceUsage> {
  const { rows } = await pool.query<Row & { is_whole: boolean; lacks_prices: boolean | null }>({
    name: "read-trace-usage",
    text: readTraceUsageSql,
    values: [accountId, traceId],
  });
  const whole = rows.find(({ is_whole }) => is_whole);
  const models = rows.filter(({ is_whole }) => !is_whole);
  const unpriced = models.filter(({ lacks_prices, model }) => lacks_prices && model);
  return {
    input_tokens: whole?.input_tokens ?? 0,
    output_tokens: whole?.output_tokens ?? 0,
    cached_input_tokens: whole?.cached_input_tokens ?? 0,
    cost_usd: whole?.cost_usd ?? null,
    models: models.slice(0, maxModels).map(presentModel),
    unpriced_models: [...new Set(unpriced.flatMap(({ model }) => model ?? []))].sort().slice(0, maxModels),
  };
}

function presentModel(row: Row): ModelSums {
  return {
    provider: row.provider || null,
    model: row.model || null,
    calls: row.calls,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cached_input_tokens: row.cached_input_tokens,
    ...(row.cache_write_tokens > 0 && { cache_write_tokens: row.cache_write_tokens }),
    ...(row.reasoning_tokens > 0 && { reasoning_tokens: row.reasoning_tokens }),
    cost_usd: row.cost_usd,
  };
}
