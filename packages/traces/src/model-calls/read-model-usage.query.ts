import { textField } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import { membersIn } from "../field-table.js";
import { checkRange, recentRange, timestampParameter } from "../paging.js";
import { type LabelCondition, labelParameters, labelsAsked } from "../trace-fields.js";
import { checkAmount, costSchema, costSql, ofLabelsSql, sumSql, tokenSumsSchema } from "./read-token-sums.query.js";
import { countedCallsSql, settleCalls } from "./settle-calls.query.js";

export const modelSumsSchema = z.object({
  provider: z.string().nullable().describe("As sent, in lower case"),
  model: z.string().nullable().describe("The answering model, else the requested one"),
  calls: z.number(),
  input_tokens: z.number().describe("With the cached ones"),
  output_tokens: z.number(),
  cached_input_tokens: z.number().describe("Read from a cache"),
  cache_write_tokens: z.number().optional().describe("Written to a cache; present if there are any"),
  reasoning_tokens: z.number().optional().describe("Part of the output; present if there are any"),
  cost_usd: costSchema,
});
export const daySumsSchema = z.object({ day: z.string().meta({ format: "date" }), ...tokenSumsSchema.shape });
export const traceUsageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_input_tokens: z.number(),
  cost_usd: costSchema,
  models: z.array(modelSumsSchema),
  unpriced_models: z.array(z.string()).describe("Models of calls without a price"),
});

type ModelSums = z.output<typeof modelSumsSchema>;

export interface ModelUsageToRead {
  accountId: string;
  /** Days, `YYYY-MM-DD` in UTC: `from` (included) to `to` (excluded). */
  from: string;
  to: string;
  agentId?: string | undefined;
  labels?: LabelCondition | undefined;
}

const dayMs = 86_400_000;

/** Which calls to sum, by whole days. */
export const modelDays = {
  from: timestampParameter(
    "Counts calls of spans that started on this UTC day or later; 30 days before `to` if omitted",
  ),
  to: timestampParameter(
    "Counts calls of spans that started before the end of this UTC day, or before it if it is midnight; now if omitted",
  ),
  agent_id: textField({ min: 1, max: 255 }).optional().describe("Only this agent's calls"),
};

export const daysQuerySchema = z.object(modelDays).superRefine(checkRange);
export const modelUsageQuerySchema = z.object({ ...modelDays, ...labelParameters }).superRefine(checkRange);

/** Widens the range to whole days. @throws AppError 400 if `from` is not before now and there is no `to` */
export function modelUsageToRead(
  accountId: string,
  query: z.output<typeof daysQuerySchema> & Partial<z.output<typeof modelUsageQuerySchema>>,
  now: Date,
): ModelUsageToRead {
  const range = recentRange(query, now);
  const dayAt = (days: number) => new Date(days * dayMs).toISOString().slice(0, 10);
  const from = dayAt(Math.floor(Date.parse(range.from) / dayMs));
  const to = dayAt(Math.min(Math.ceil(Date.parse(range.to) / dayMs), lastDay));
  return { accountId, from, to, agentId: query.agent_id, labels: labelsAsked(query) };
}

/** The last day that a timestamp of the contract can name. */
const lastDay = Date.parse("9999-12-31T00:00:00Z") / dayMs;

export function presentDays({ from, to }: Pick<ModelUsageToRead, "from" | "to">) {
  return { from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z` };
}

/** Models of an answer, those with most tokens, and rows of a table. */
const maxModels = 1_000;

const sumsSql = `${sumSql("input_tokens")}, ${sumSql("output_tokens")}, ${sumSql("cached_input_tokens")},
    ${sumSql("cache_write_tokens")}, ${sumSql("reasoning_tokens")}`;

export const ofDaysSql =
  "account_id = $1 AND day >= $2::date AND day < $3::date AND ($4::text IS NULL OR agent_id = $4)";

/** The counted calls of the days: ranges of `model_call_agent_idx` of the days' agents. */
export const callsOfDaysSql = `${countedCallsSql} WHERE account_id = $1 AND started_at >= $2::date AND started_at < $3::date
      AND agent_id = ANY (ARRAY(SELECT DISTINCT agent_id FROM model_day WHERE ${ofDaysSql}))`;

/** Calls of the days, with probes of `trace_pkey` for the labels. */
const labelledCallsSql = (labels: LabelCondition) => `(
    SELECT started_at::date AS day, provider, model, 1 AS calls, cost, (cost IS NOT NULL)::int AS priced_calls,
      input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens
    FROM ${callsOfDaysSql} AND ${ofLabelsSql(labels.sql(5))}
  ) AS calls`;

/** A row for each model and each day, of calls or of a range of `model_day_pkey`: it starts with the account and the day. */
const readModelUsageSql = (labels?: LabelCondition) => `
  SELECT day::text, provider, model, sum(calls)::float8 AS calls, ${sumsSql}, ${costSql("sum(priced_calls)")}
  FROM ${labels ? labelledCallsSql(labels) : `model_day WHERE ${ofDaysSql}`}
  GROUP BY GROUPING SETS ((day), (provider, model)) HAVING sum(calls) > 0
  ORDER BY day, sum(input_tokens + output_tokens) DESC, provider, model`;

type Row = ModelSums & { day: string | null; cache_write_tokens: number; reasoning_tokens: number };

/** Settles calls first. @throws AppError 400 on `from` if labels are asked of too many traces or calls */
export async function readModelUsage(pool: pg.Pool, read: ModelUsageToRead) {
  const { accountId, from, to, agentId = null, labels } = read;
  await settleCalls(pool, accountId);
  if (labels) await checkAmount(pool, read);
  const values = [accountId, from, to, agentId, ...(labels?.values ?? [])];
  const name = `read-model-usage${labels ? "-by-labels" : ""}`;
  const { rows } = await pool.query<Row>({ name, text: readModelUsageSql(labels), values });
  return {
    ...presentDays(read),
    models: rows
      .filter(({ day }) => day === null)
      .slice(0, maxModels)
      .map(presentModel),
    series: rows.flatMap(({ day, ...sums }) => (day === null ? [] : [membersIn(daySumsSchema, { day, ...sums })])),
  };
}

/** The trace's range of `model_call_pkey`: the whole, and a row for each model. */
const readTraceUsageSql = `
  SELECT NULL AS day, provider, model, count(*)::float8 AS calls, ${sumsSql}, ${costSql("count(cost)")},
    GROUPING(model) = 1 AS is_whole, bool_or(lacks_price) AS lacks_prices
  FROM ${countedCallsSql} WHERE account_id = $1 AND trace_id = $2
  GROUP BY GROUPING SETS ((), (provider, model))
  ORDER BY is_whole DESC, sum(input_tokens + output_tokens) DESC NULLS LAST, provider, model`;

/** A trace's model calls; zeros without any. Settles them first. */
export async function readTraceUsage(pool: pg.Pool, accountId: string, traceId: string) {
  await settleCalls(pool, accountId, traceId);
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

/** Lengths of time that sums are by; a week begins on Monday. */
export const usageIntervals = ["day", "week", "month"] as const;

const usageSums = z.object({
  calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_input_tokens: z.number(),
  cost_usd: costSchema,
});

type UsageSums = z.output<typeof usageSums>;

const noUsage: UsageSums = { calls: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost_usd: null };

export interface UsageTables {
  total: UsageSums;
  /** Most expensive first. */
  models: ({ provider: string | null; model: string | null } & UsageSums)[];
  agents: ({ agent_id: string } & UsageSums)[];
  /** By the first day of each interval with calls. */
  series: ({ day: string } & UsageSums)[];
}

/** The sums of rows of `model_day`. */
export const usageSumsSql = `${sumSql("calls")}, ${sumSql("input_tokens")}, ${sumSql("output_tokens")},
    ${sumSql("cached_input_tokens")}, ${costSql("sum(priced_calls)")}`;

/** A range of `model_day_pkey`: it starts with the account and the day. */
const readTablesSql = `
  SELECT GROUPING(provider, agent_id, started) AS grouped, provider, model, agent_id, started::date::text AS day, ${usageSumsSql}
  FROM (SELECT *, date_trunc($5, day::timestamp) AS started FROM model_day WHERE ${ofDaysSql}) AS days
  GROUP BY GROUPING SETS ((), (provider, model), (agent_id), (started)) HAVING sum(calls) > 0
  ORDER BY started, sum(cost) DESC, sum(input_tokens + output_tokens) DESC, provider, model, agent_id`;

/** The values of GROUPING: a bit is set for each column that is not grouped by. */
const groupings = { total: 7, models: 3, agents: 5, series: 6 } as const;

type TableRow = UsageSums & Record<"provider" | "model" | "agent_id" | "day", string | null> & { grouped: number };

/** Sums of model calls in all, by model, by agent and over time. Settles calls first. */
export async function readUsageTables(
  pool: pg.Pool,
  { interval, ...read }: ModelUsageToRead & { interval: (typeof usageIntervals)[number] },
): Promise<UsageTables> {
  await settleCalls(pool, read.accountId);
  const values = [read.accountId, read.from, read.to, read.agentId ?? null, interval];
  const { rows } = await pool.query<TableRow>({ name: "read-usage-tables", text: readTablesSql, values });
  const of = (name: keyof typeof groupings) => rows.filter(({ grouped }) => grouped === groupings[name]);
  const sumsOf = (row: TableRow): UsageSums => membersIn(usageSums, row);
  const [total] = of("total");
  return {
    total: total ? sumsOf(total) : noUsage,
    models: of("models")
      .slice(0, maxModels)
      .map((row) => ({ provider: row.provider || null, model: row.model || null, ...sumsOf(row) })),
    agents: of("agents")
      .slice(0, maxModels)
      .map((row) => ({ agent_id: row.agent_id ?? "", ...sumsOf(row) })),
    series: of("series").map((row) => ({ day: row.day ?? "", ...sumsOf(row) })),
  };
}
