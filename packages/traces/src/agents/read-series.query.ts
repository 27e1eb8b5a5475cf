import { validationError } from "@waymark/errors";
import type pg from "pg";
import { z } from "zod";
import { isoText, membersIn, timestamp } from "../field-table.js";
import { checkAmount, noTokens, readTokensOverTime, tokenSumsSchema } from "../model-calls/read-token-sums.query.js";
import { checkRange, countedRange, recentRange } from "../paging.js";
import { type LabelCondition, labelParameters, labelsAsked } from "../trace-fields.js";
import { durationsSql, figuresSchema, figuresSql } from "./figures.query.js";

/** The length of a range without `from`, and of the longest one, by interval. */
const rangeDays = { hour: { usual: 1, most: 31 }, day: { usual: 30, most: 400 } } as const;

export const seriesEntrySchema = z.object({
  at: timestamp.describe("The beginning of the hour or day"),
  traces: z.number(),
  success: z.number(),
  error: z.number(),
  timeout: z.number(),
  running: z.number(),
  ...figuresSchema.shape,
  ...tokenSumsSchema.shape,
});

type SeriesEntry = z.output<typeof seriesEntrySchema>;

export const seriesQuerySchema = z
  .object({
    ...countedRange(
      "traces",
      `${rangeDays.hour.usual} day before \`to\` if omitted, ${rangeDays.day.usual} days for \`interval=day\``,
    ),
    ...labelParameters,
    interval: z
      .enum(["hour", "day"])
      .default("day")
      .describe(`Hours of at most ${rangeDays.hour.most} days, or days of at most ${rangeDays.day.most}, in UTC`),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if the range is too long, or if `from` is not before now and there is no `to` */
export function seriesToRead(
  of: { accountId: string; agentId: string },
  query: z.output<typeof seriesQuerySchema>,
  now: Date,
) {
  const { interval } = query;
  const { usual, most } = rangeDays[interval];
  const range = recentRange(query, now, usual);
  if (Date.parse(range.to) - Date.parse(range.from) > most * 86_400_000)
    throw validationError({ from: `Must be at most ${most} days before to, for interval=${interval}` });
  return { ...of, ...range, interval, labels: labelsAsked(query), withProvisional: false };
}

/**
 * An agent's traces by hour or day of their start, empty ones too. Reads the account's range of `trace_listing_idx` with its
 * rows, bucket by bucket, so nothing sorts more than a bucket's durations. No row says that there is no such agent.
 */
const readSeriesSql = (withProvisional: boolean, labels?: LabelCondition) => `
  WITH bucket AS (
    SELECT at, GREATEST(at, $3::timestamptz) AS starts, LEAST(at + $5::interval, $4::timestamptz) AS ends
    FROM generate_series(date_trunc($6, $3::timestamptz), $4::timestamptz - interval '1 us', $5::interval) AS at
    WHERE EXISTS (SELECT FROM agent WHERE account_id = $1 AND id = $2${withProvisional ? "" : " AND NOT is_provisional"})
  )
  SELECT ${isoText("bucket.at")} AS at, counted.traces, counted.running, counted.success, counted.error, counted.timeout,
    ${figuresSql("counted")}
  FROM bucket CROSS JOIN LATERAL (
    SELECT count(*)::int AS traces, count(*) FILTER (WHERE status = 'running')::int AS running,
      count(*) FILTER (WHERE status = 'success')::int AS success, count(*) FILTER (WHERE status = 'error')::int AS error,
      count(*) FILTER (WHERE status = 'timeout')::int AS timeout, ${durationsSql} AS durations
    FROM trace WHERE account_id = $1 AND started_at >= bucket.starts AND started_at < bucket.ends AND agent_id = $2
      ${labels ? `AND ${labels.sql(7)}` : ""}
  ) AS counted
  ORDER BY bucket.at`;

/** Undefined for an unknown agent. @throws AppError 400 on `from` if the range has too many traces or calls */
export async function readSeries(pool: pg.Pool, query: ReturnType<typeof seriesToRead>) {
  const { accountId, agentId, from, to, interval, labels, withProvisional } = query;
  if (labels) await checkAmount(pool, query);
  const values = [accountId, agentId, from, to, `1 ${interval}`, interval, ...(labels?.values ?? [])];
  const name = `read-${withProvisional ? "any-" : ""}agent-series${labels ? "-by-labels" : ""}`;
  const { rows } = await pool.query<SeriesEntry>({ name, text: readSeriesSql(withProvisional, labels), values });
  if (rows.length === 0) return undefined;
  const tokens = await readTokensOverTime(pool, query);
  const series = rows.map((entry) => membersIn(seriesEntrySchema, { ...entry, ...(tokens.get(entry.at) ?? noTokens) }));
  return { agent_id: agentId, from, to, interval, series };
}
