import { withTransaction } from "@waymark/database";
import type pg from "pg";

/** Of one statement. */
const maxTraces = 2_000;

/** Another worker's round: a trace must not be counted twice. */
const lockSql = "SELECT pg_try_advisory_xact_lock(hashtext('drop-noise')) AS is_alone";

/** Parts of an existing trace wait for its next span: a request that was cut off left them. */
const isNoiseSql = `NOT EXISTS (
      SELECT FROM trace t WHERE t.account_id = p.account_id AND t.otel_trace_id = p.otel_trace_id AND t.otel_trace_id IS NOT NULL
    )`;

/**
 * Removes the pending spans of traces that stayed without an agent, and counts these traces as dropped in this UTC month ($4),
 * all or nothing: those with a root, $1 ms after their last span, others after $2 ms. Ranges of `pending_span_ended_idx`,
 * `pending_span_received_at_idx` and, for a trace, `pending_span_pkey`, a probe of `trace_otel_trace_id_key` and
 * `trace_usage_pkey`.
 */
const dropNoiseSql = `
  WITH due AS MATERIALIZED (
    (SELECT account_id, otel_trace_id FROM pending_span p
      WHERE has_root AND received_at < now() - $1 * interval '1 millisecond' AND ${isNoiseSql} ORDER BY received_at LIMIT $3)
    UNION
    (SELECT account_id, otel_trace_id FROM pending_span p
      WHERE received_at < now() - $2 * interval '1 millisecond' AND ${isNoiseSql} ORDER BY received_at LIMIT $3)
  ), ripe AS MATERIALIZED (
    SELECT d.* FROM due d WHERE NOT EXISTS (
      SELECT FROM pending_span p WHERE p.account_id = d.account_id AND p.otel_trace_id = d.otel_trace_id
        AND p.received_at >= now() - $1 * interval '1 millisecond'
    )
  ), gone AS (
    DELETE FROM pending_span p USING ripe r WHERE p.account_id = r.account_id AND p.otel_trace_id = r.otel_trace_id
  ), counted AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, dropped)
    SELECT account_id, $4::date, 0, count(*) FROM ripe GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET dropped = u.dropped + excluded.dropped
  )
  SELECT account_id, otel_trace_id FROM ripe`;

/** Whether one of the traces exists by now: its first span of an agent came while the statement ran. */
const findMadeSql = `
  SELECT FROM unnest($1::uuid[], $2::bytea[]) AS p (account_id, otel_trace_id) WHERE NOT ${isNoiseSql} LIMIT 1`;

/** A trace was made meanwhile: the next round decides again. */
class TraceMade extends Error {}

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
    last = await withTransaction(pool, (client) => dropSome(client, how)).catch((error: unknown) => {
      if (error instanceof TraceMade) return 0;
      throw error;
    });
    total += last;
  }
  return total;
}

async function dropSome(
  client: pg.PoolClient,
  { endedAfterMs, silentAfterMs, month }: Parameters<typeof dropNoise>[1],
) {
  const { rows: locks } = await client.query<{ is_alone: boolean }>(lockSql);
  if (!locks[0]?.is_alone) return 0;
  const values = [endedAfterMs, silentAfterMs, maxTraces, month];
  const { rows } = await client.query<{ account_id: string; otel_trace_id: Buffer }>(dropNoiseSql, values);
  const ids = [rows.map(({ account_id }) => account_id), rows.map(({ otel_trace_id }) => otel_trace_id)];
  const { rowCount } = await client.query(findMadeSql, ids);
  if (rowCount) throw new TraceMade();
  return rows.length;
}
