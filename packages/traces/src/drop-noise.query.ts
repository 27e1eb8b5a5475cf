import { withTransaction } from "@waymark/database";
import type pg from "pg";

/** Of one statement. */
const maxTraces = 2_000;

/** Another worker's round: a trace must not be counted twice. */
const lockSql = "SELECT pg_try_advisory_xact_lock(hashtext('drop-noise')) AS is_alone";

/**
 * Removes the pending spans of traces that stayed without an agent, and counts these traces as dropped in this UTC month ($4),
 * all or nothing: those with a root, $1 ms after their last span, others after $2 ms. The spans of a trace that exists, left
 * by a request that was cut off, go uncounted. Ranges of `pending_span_ended_idx`, `pending_span_received_at_idx` and, for a
 * trace, `pending_span_pkey`, a probe of `trace_otel_trace_id_key` and `trace_usage_pkey`.
 */
const dropNoiseSql = `
  WITH due AS MATERIALIZED (
    (SELECT account_id, otel_trace_id FROM pending_span
      WHERE has_root AND received_at < now() - $1 * interval '1 millisecond' ORDER BY received_at LIMIT $3)
    UNION
    (SELECT account_id, otel_trace_id FROM pending_span
      WHERE received_at < now() - $2 * interval '1 millisecond' ORDER BY received_at LIMIT $3)
  ), ripe AS MATERIALIZED (
    SELECT d.*, NOT EXISTS (
      SELECT FROM trace t WHERE t.account_id = d.account_id AND t.otel_trace_id = d.otel_trace_id AND t.otel_trace_id IS NOT NULL
    ) AS is_noise
    FROM due d WHERE NOT EXISTS (
      SELECT FROM pending_span p WHERE p.account_id = d.account_id AND p.otel_trace_id = d.otel_trace_id
        AND p.received_at >= now() - $1 * interval '1 millisecond'
    )
  ), gone AS (
    DELETE FROM pending_span p USING ripe r WHERE p.account_id = r.account_id AND p.otel_trace_id = r.otel_trace_id
  ), counted AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, dropped)
    SELECT account_id, $4::date, 0, count(*) FROM ripe WHERE is_noise GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET dropped = u.dropped + excluded.dropped
  )
  SELECT count(*)::int AS traces FROM ripe`;

/**
 * Drops the pending traces of accounts that keep those of agents alone. Several workers may do so at once.
 * @param month the first day of the UTC month that counts them
 * @returns the number of traces
 */
export async function dropNoise(
  pool: pg.Pool,
  how: { endedAfterMs: number; silentAfterMs: number; month: string; isStopping(): boolean },
): Promise<number> {
  let [total, last] = [0, maxTraces];
  while (last > 0 && !how.isStopping()) {
    last = await withTransaction(pool, async (client) => {
      const { rows } = await client.query<{ is_alone: boolean }>(lockSql);
      if (!rows[0]?.is_alone) return 0;
      const values = [how.endedAfterMs, how.silentAfterMs, maxTraces, how.month];
      return (await client.query<{ traces: number }>(dropNoiseSql, values)).rows[0]?.traces ?? 0;
    });
    total += last;
  }
  return total;
}
