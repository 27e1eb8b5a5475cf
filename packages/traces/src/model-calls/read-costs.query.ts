import type pg from "pg";
import { isoText } from "../field-table.js";
import {
  callsOfDaysSql,
  type ModelUsageToRead,
  ofDaysSql,
  type UsageTables,
  usageSumsSql,
} from "./read-model-usage.query.js";
import { checkAmount, sumSql } from "./read-token-sums.query.js";
import { settleCalls } from "./settle-calls.query.js";

type Sums = UsageTables["total"];

interface ModelDays {
  provider: string | null;
  model: string | null;
  /** Days with calls, in order. */
  days: ({ day: string } & Sums)[];
}

/** A range of `model_day_pkey`; each model and day has one row. */
const readModelDaysSql = `
  SELECT provider, model, day::text, ${usageSumsSql}
  FROM model_day JOIN unnest($5::text[], $6::text[]) AS wanted (provider, model) USING (provider, model)
  WHERE ${ofDaysSql} GROUP BY provider, model, day HAVING sum(calls) > 0 ORDER BY day`;

/** The days of some models, in their order. Does not settle calls: {@link readUsageTables} did. */
export async function readModelDays(
  pool: pg.Pool,
  { accountId, from, to, agentId }: ModelUsageToRead,
  models: readonly Pick<ModelDays, "provider" | "model">[],
): Promise<ModelDays[]> {
  const names = [models.map(({ provider }) => provider ?? ""), models.map(({ model }) => model ?? "")];
  const values = [accountId, from, to, agentId ?? null, ...names];
  const { rows } = await pool.query<{ provider: string; model: string; day: string } & Sums>({
    name: "read-model-days",
    text: readModelDaysSql,
    values,
  });
  return models.map(({ provider, model }) => ({
    provider,
    model,
    days: rows
      .filter((row) => row.provider === (provider ?? "") && row.model === (model ?? ""))
      .map(({ provider: _provider, model: _model, ...sums }) => sums),
  }));
}

const maxDearest = 10;

interface DearestTraces {
  /** Traces with a priced call in the days, deleted ones included. */
  priced: number;
  /** What one of them cost on average; null without any. */
  mean_cost_usd: string | null;
  /** Those that cost most in the days, and are not deleted. */
  traces: {
    id: string;
    name: string;
    agent_id: string;
    started_at: string;
    cost_usd: string;
    input_tokens: number;
    output_tokens: number;
  }[];
}

/**
 * Sums the calls of the days by trace. The days' agents, a range of `model_day_pkey`, lead to ranges of `model_call_agent_idx`,
 * or all of them to one of `model_call_pkey`; a probe of `trace_pkey` for each of the dearest until ten are found.
 */
const readDearestSql = `
  WITH summed AS MATERIALIZED (
    SELECT trace_id, sum(cost) AS cost, ${sumSql("input_tokens")}, ${sumSql("output_tokens")} FROM ${callsOfDaysSql}
    GROUP BY trace_id HAVING count(cost) > 0
  )
  SELECT (SELECT count(*)::int FROM summed) AS priced,
    (SELECT trim_scale(round(avg(cost), 9))::text FROM summed) AS mean_cost_usd,
    COALESCE((SELECT json_agg(json_build_object('id', id, 'name', name, 'agent_id', agent_id, 'started_at', started_at,
        'cost_usd', trim_scale(cost)::text, 'input_tokens', input_tokens, 'output_tokens', output_tokens) ORDER BY cost DESC, id)
      FROM (
        SELECT t.*, s.cost, s.input_tokens, s.output_tokens FROM (SELECT * FROM summed ORDER BY cost DESC, trace_id) s
        CROSS JOIN LATERAL (
          SELECT id, name, agent_id, ${isoText("started_at")} AS started_at FROM trace
          WHERE account_id = $1 AND id = s.trace_id OFFSET 0
        ) t ORDER BY s.cost DESC, s.trace_id LIMIT ${maxDearest}
      ) dearest)::text, '[]') AS traces`;

/** Settles calls first. @throws AppError 400 on `from` for too many traces or calls */
export async function readDearestTraces(pool: pg.Pool, read: ModelUsageToRead): Promise<DearestTraces> {
  const { accountId, from, to, agentId } = read;
  await settleCalls(pool, accountId);
  await checkAmount(pool, read);
  const values = [accountId, from, to, agentId ?? null];
  const { rows } = await pool.query<Omit<DearestTraces, "traces"> & { traces: string }>({
    name: "read-dearest-traces",
    text: readDearestSql,
    values,
  });
  const { traces, ...sums } = rows[0] ?? { priced: 0, mean_cost_usd: null, traces: "[]" };
  return { ...sums, traces: JSON.parse(traces) };
}
