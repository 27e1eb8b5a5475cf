import type pg from "pg";
import { isoText } from "../iso-text.js";
import { noTokens, readTokensOverTime, type TokenSums } from "../model-calls/read-token-sums.query.js";
import type { TraceStatus } from "../statuses.js";
import { durationsSql, type Figures, figuresSql } from "./figures.js";

export const intervals = ["hour", "day"] as const;
export type Interval = (typeof intervals)[number];

/** `from` (included) and `to` (excluded) bound the starts of the counted traces. */
export interface SeriesToRead {
  accountId: string;
  agentId: string;
  from: string;
  to: string;
  interval: Interval;
}

export interface SeriesEntry extends Record<TraceStatus, number>, Figures, TokenSums {
  /** The beginning of the hour or day, in UTC. */
  at: string;
  traces: number;
}

/**
 * An agent's traces by hour or day of their start, empty ones too. Reads the account's range of `trace_listing_idx` with its
 * rows, bucket by bucket, so nothing sorts more than a bucket's durations. A row without `at` says that there is no such agent.
 */
const readSeriesSql = `
  WITH bucket AS (
    SELECT at, GREATEST(at, $3::timestamptz) AS starts, LEAST(at + $5::interval, $4::timestamptz) AS ends
    FROM generate_series(date_trunc($6, $3::timestamptz), $4::timestamptz - interval '1 us', $5::interval) AS at
    WHERE EXISTS (SELECT FROM agent WHERE account_id = $1 AND id = $2 AND NOT is_provisional)
  )
  SELECT ${isoText("bucket.at")} AS at, counted.traces, counted.running, counted.success, counted.error, counted.timeout,
    ${figuresSql("counted")}
  FROM bucket CROSS JOIN LATERAL (
    SELECT count(*)::int AS traces, count(*) FILTER (WHERE status = 'running')::int AS running,
      count(*) FILTER (WHERE status = 'success')::int AS success, count(*) FILTER (WHERE status = 'error')::int AS error,
      count(*) FILTER (WHERE status = 'timeout')::int AS timeout, ${durationsSql} AS durations
    FROM trace WHERE account_id = $1 AND started_at >= bucket.starts AND started_at < bucket.ends AND agent_id = $2
  ) AS counted
  ORDER BY bucket.at`;

/** Reads an agent's series; empty where the account has no such agent. */
export async function readSeries(pool: pg.Pool, query: SeriesToRead): Promise<SeriesEntry[]> {
  const { accountId, agentId, from, to, interval } = query;
  const values = [accountId, agentId, from, to, `1 ${interval}`, interval];
  const { rows } = await pool.query<SeriesEntry>({ name: "read-agent-series", text: readSeriesSql, values });
  if (rows.length === 0) return [];
  const tokens = await readTokensOverTime(pool, query);
  return rows.map((entry) => ({ ...entry, ...(tokens.get(entry.at) ?? noTokens) }));
}
