import { validationError } from "@waymark/errors";
import { z } from "zod";
import { checkRange, rangeParameters, recentRange } from "../paging.js";
import { type Interval, intervals, type SeriesEntry, type SeriesToRead } from "./read-series.query.js";

/** The length of a range without `from`, and of the longest one, by interval. */
const rangeDays = { hour: { usual: 1, most: 31 }, day: { usual: 30, most: 400 } } as const satisfies Record<
  Interval,
  { usual: number; most: number }
>;

const dayMs = 86_400_000;

export const seriesQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts traces that started at this time or later; ${rangeDays.hour.usual} day before \`to\` if omitted, ${rangeDays.day.usual} days for \`interval=day\``,
    ),
    to: rangeParameters.to.describe("Counts traces that started before this time; now if omitted"),
    interval: z
      .enum(intervals)
      .default("day")
      .describe(`Hours of at most ${rangeDays.hour.most} days, or days of at most ${rangeDays.day.most}, in UTC`),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if the range is too long, or if `from` is not before now and there is no `to` */
export function seriesToRead(
  of: Pick<SeriesToRead, "accountId" | "agentId">,
  query: z.output<typeof seriesQuerySchema>,
  now: Date,
): SeriesToRead {
  const { interval } = query;
  const { usual, most } = rangeDays[interval];
  const range = recentRange(query, { now, days: usual });
  if (Date.parse(range.to) - Date.parse(range.from) > most * dayMs)
    throw validationError({ from: `Must be at most ${most} days before to, for interval=${interval}` });
  return { ...of, ...range, interval };
}

export function presentSeries({ agentId, from, to, interval }: SeriesToRead, series: readonly SeriesEntry[]) {
  return {
    agent_id: agentId,
    from,
    to,
    interval,
    series: series.map((entry) => ({
      at: entry.at,
      traces: entry.traces,
      success: entry.success,
      error: entry.error,
      timeout: entry.timeout,
      running: entry.running,
      failure_rate: entry.failure_rate,
      p50_ms: entry.p50_ms,
      p90_ms: entry.p90_ms,
      p99_ms: entry.p99_ms,
      input_tokens: entry.input_tokens,
      output_tokens: entry.output_tokens,
      cost_usd: entry.cost_usd,
    })),
  };
}
