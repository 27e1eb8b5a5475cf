import type pg from "pg";
import { z } from "zod";
import { durationsSql, figuresSchema, figuresSql } from "../agents/figures.query.js";
import { membersIn } from "../field-table.js";
import { checkRange } from "../paging.js";
import type { LabelCondition } from "../trace-fields.js";
import {
  callsOfDaysSql,
  type ModelUsageToRead,
  modelDays,
  modelUsageToRead,
  presentDays,
} from "./read-model-usage.query.js";
import { checkAmount, costSchema, costSql, ofLabelsSql, sumSql } from "./read-token-sums.query.js";
import { settleCalls } from "./settle-calls.query.js";

/** What sums are by: a column of the trace, or of the call. */
const dimensions = {
  session: { ofTrace: "session_id" },
  user: { ofTrace: "user_id" },
  environment: { ofTrace: "environment" },
  release: { ofTrace: "release" },
  tag: { ofTrace: "tags" },
  agent: { ofTrace: "agent_id", ofCall: "agent_id" },
  model: { ofTrace: "NULL::text", ofCall: "NULLIF(model, '')" },
} as const satisfies Record<string, { ofTrace: string; ofCall?: string }>;

type Dimension = keyof typeof dimensions;
const dimensionNames = Object.keys(dimensions) as [Dimension, ...Dimension[]];

export const usageRowSchema = z.object({
  value: z.string().nullable().describe("Null for traces without one, and for calls of deleted traces"),
  traces: z.number(),
  failures: z.number().describe("Traces with `error` or `timeout`"),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_input_tokens: z.number(),
  cost_usd: costSchema,
});

const usageFiguresSchema = usageRowSchema.extend(figuresSchema.shape);

export const usageByQuerySchema = z
  .object({ dimension: z.enum(dimensionNames).describe("What to sum by"), ...modelDays })
  .superRefine(checkRange);

/** Whole days, as {@link modelUsageToRead} has them. */
export function usageToSum(accountId: string, query: z.output<typeof usageByQuerySchema>, now: Date) {
  return { ...modelUsageToRead(accountId, query, now), dimension: query.dimension };
}

/** Rows of an answer: those that cost most. */
export const maxUsageRows = 1_000;

/** What {@link figuresSql} takes. */
const countedSql = `${["success", "error", "timeout"].map((status) => `count(*) FILTER (WHERE status = '${status}') AS ${status}`).join(", ")},
    ${durationsSql} AS durations,`;

/**
 * Counts the traces that started in the days, and sums the calls of the days, by the value of their traces. The days' agents,
 * a range of `model_day_pkey`, lead to ranges of `model_call_agent_idx`; the traces come from `trace_listing_idx`, and a trace that
 * started before the days from a probe of `trace_pkey`.
 */
function sumUsageSql(dimension: Dimension, withFigures: boolean, labels?: LabelCondition): string {
  const { ofTrace, ofCall }: { ofTrace: string; ofCall?: string } = dimensions[dimension];
  const sums = ["input_tokens", "output_tokens", "cached_input_tokens"];
  const inDays = "account_id = $1 AND started_at >= $2::date AND started_at < $3::date";
  const value = dimension === "tag" ? "tag" : "COALESCE(c.value, t.value, earlier.value)";
  return `
  WITH traces AS MATERIALIZED (
    SELECT id, status, started_at, ended_at, ${ofTrace} AS value FROM trace
    WHERE ${inDays} AND ($4::text IS NULL OR agent_id = $4)${labels ? ` AND ${labels.sql(5)}` : ""}
  ), calls AS MATERIALIZED (
    SELECT c.trace_id, ${ofCall ? `c.value` : "NULL::text"} AS value, ${sums.map((name) => `sum(c.${name}) AS ${name}`).join(", ")}, sum(c.cost) AS cost
    FROM (
      SELECT *, ${ofCall ?? "NULL"} AS value FROM ${callsOfDaysSql}${labels ? ` AND ${ofLabelsSql(labels.sql(5))}` : ""}
    ) c GROUP BY 1, 2
  )
  SELECT ${value} AS value, count(t.id)::int AS traces,
    count(*) FILTER (WHERE t.status IN ('error', 'timeout'))::int AS failures, ${withFigures ? countedSql : ""} ${sums.map(sumSql).join(", ")}, ${costSql("count(cost)")}
  FROM traces t FULL JOIN calls c ON c.trace_id = t.id
  LEFT JOIN LATERAL (
    SELECT ${ofTrace} AS value FROM trace WHERE t.id IS NULL AND account_id = $1 AND id = c.trace_id OFFSET 0
  ) earlier ON true
  ${dimension === "tag" ? "LEFT JOIN LATERAL unnest(COALESCE(t.value, earlier.value)) AS tag ON true" : ""}
  GROUP BY 1 ORDER BY sum(cost) DESC NULLS LAST, count(t.id) DESC, 1 NULLS LAST LIMIT ${maxUsageRows}`;
}

/** A trace counts for each of its tags and models. @throws AppError 400 on `from` for too many traces or calls */
export async function sumUsage(pool: pg.Pool, read: ReturnType<typeof usageToSum>) {
  const { dimension, from, to } = read;
  const rows = await readRows(pool, { ...read, text: sumUsageSql(dimension, false, read.labels) });
  return { dimension, ...presentDays({ from, to }), rows: rows.map((row) => membersIn(usageRowSchema, row)) };
}

interface FiguresToSum extends ModelUsageToRead {
  dimension: "release" | "environment";
  /** Rows at most, those with most traces. */
  most: number;
}

/** {@link sumUsage} with figures of the traces, and how many rows there are of {@link maxUsageRows} at most. */
export async function sumUsageWithFigures(pool: pg.Pool, { most, ...read }: FiguresToSum) {
  const sums = sumUsageSql(read.dimension, true, read.labels);
  const rows = await readRows(pool, { ...read, text: `SELECT *, ${figuresSql("counted")} FROM (${sums}) AS counted` });
  const sorted = [...rows].sort((a, b) => b.traces - a.traces);
  return { count: rows.length, rows: sorted.slice(0, most).map((row) => membersIn(usageFiguresSchema, row)) };
}

type Row = z.output<typeof usageFiguresSchema>;

async function readRows(
  pool: pg.Pool,
  { text, dimension, ...read }: ModelUsageToRead & { dimension: Dimension; text: string },
) {
  const { accountId, from, to, agentId, labels } = read;
  await settleCalls(pool, accountId);
  await checkAmount(pool, read);
  const values = [accountId, from, to, agentId ?? null, ...(labels?.values ?? [])];
  const name = `sum-usage-by-${dimension}${text.includes("durations") ? "-with-figures" : ""}${labels ? "-of-labels" : ""}`;
  return (await pool.query<Row>({ name, text, values })).rows;
}
