import type pg from "pg";
import { z } from "zod";
import type { LabelCondition } from "../trace-fields.js";

const percentile = (percent: number) =>
  z.number().nullable().describe(`${percent} % of the ended traces took at most as many milliseconds`);

/** Figures of some traces. Percentiles are by nearest rank. */
export const figuresSchema = z.object({
  failure_rate: z.number().nullable().describe("Traces with `error` or `timeout` by ended traces; null without any"),
  p50_ms: percentile(50),
  p90_ms: percentile(90),
  p95_ms: percentile(95),
  p99_ms: percentile(99),
});

type Figures = z.output<typeof figuresSchema>;

export const noFigures: Figures = { failure_rate: null, p50_ms: null, p90_ms: null, p95_ms: null, p99_ms: null };

/** An aggregate of rows of `trace`: the four percentiles of their durations, exact by nearest rank. */
export const durationsSql = `percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99]) WITHIN GROUP (ORDER BY ended_at - started_at)
        FILTER (WHERE status <> 'running' AND ended_at >= started_at)`;

/** The columns of {@link Figures} from `success`, `error`, `timeout` and `durations` of the table `from`. */
export function figuresSql(from: string): string {
  const place = (number: number, name: string) =>
    `(extract(epoch FROM ${from}.durations[${number}]) * 1000)::float8 AS ${name}`;
  const failed = `(${from}.error + ${from}.timeout)`;
  return `${failed}::float8 / NULLIF(${failed} + ${from}.success, 0) AS failure_rate,
    ${place(1, "p50_ms")}, ${place(2, "p90_ms")}, ${place(3, "p95_ms")}, ${place(4, "p99_ms")}`;
}

/** Reads the account's range of `trace_listing_idx` with its rows, and sorts the durations of each agent asked for. */
const readFiguresSql = (labels: string) => `
  WITH counted AS (
    SELECT agent_id, count(*) FILTER (WHERE status = 'success') AS success,
      count(*) FILTER (WHERE status = 'error') AS error, count(*) FILTER (WHERE status = 'timeout') AS timeout,
      ${durationsSql} AS durations
    FROM trace WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND agent_id = ANY ($4) ${labels}
    GROUP BY agent_id
  )
  SELECT agent_id, ${figuresSql("counted")} FROM counted`;

/** The figures of those agents that have traces in the range, of traces with the labels alone, by agent. */
export async function readFigures(
  pool: pg.Pool,
  { accountId, from, to }: { accountId: string; from: string; to: string },
  agentIds: readonly string[],
  labels?: LabelCondition,
): Promise<Map<string, Figures>> {
  const name = `read-agents-figures${labels ? "-by-labels" : ""}`;
  const text = readFiguresSql(labels ? `AND ${labels.sql(5)}` : "");
  const values = [accountId, from, to, agentIds, ...(labels?.values ?? [])];
  const { rows } = await pool.query<Figures & { agent_id: string }>({ name, text, values });
  return new Map(rows.map(({ agent_id, ...figures }) => [agent_id, figures]));
}
