import { withTransaction } from "@waymark/database";
import type pg from "pg";
import { agentKinds } from "../statuses.js";

/** Traces of an answer, the latest ones. */
const maxJudgedTraces = 2_000;
/** Of a trace: one with more counts as an agent's. */
const maxJudgedSpans = 200;
/** A fifth: what a page tells. */
const noisyShare = 0.2;

const ofAgents = agentKinds.filter((kind) => kind !== "chain");

/**
 * Of the latest traces that started since $2, at most $3: how many came from OpenTelemetry without a span of an agent, a model
 * call, a score or labels that tell an agent. Entries of `trace_listing_idx`, and for each trace probes of `model_call_pkey` and `score_pkey` and up to
 * $4 entries of `span_pkey`.
 */
const readNoiseSql = `
  SELECT count(*)::int AS traces, count(*) FILTER (
    WHERE t.otel_trace_id IS NOT NULL AND t.session_id IS NULL AND t.user_id IS NULL AND t.tags = '{}'
      AND NOT EXISTS (SELECT FROM model_call c WHERE c.account_id = $1 AND c.trace_id = t.id)
      AND NOT EXISTS (SELECT FROM score c WHERE c.account_id = $1 AND c.trace_id = t.id)
      AND (
        SELECT count(*) < $4 AND COALESCE(bool_and(s.kind IS NULL OR s.kind <> ALL ($5)), true)
        FROM (SELECT kind FROM span WHERE account_id = $1 AND trace_id = t.id ORDER BY id LIMIT $4) s
      )
  )::int AS noise
  FROM (
    SELECT id, otel_trace_id, session_id, user_id, tags FROM trace
    WHERE account_id = $1 AND started_at >= $2 ORDER BY started_at DESC, id DESC LIMIT $3
  ) t`;

interface Noise {
  traces: number;
  noise: number;
  /** Whether the month may have more traces than were looked at. */
  isPart: boolean;
  /** Whether they are a fifth or more. */
  isMuch: boolean;
}

/** How much of a month, by its latest traces, has no agent. `month` is its first day, `YYYY-MM-DD`. */
export async function readNoise(
  pool: pg.Pool,
  { accountId, month }: { accountId: string; month: string },
): Promise<Noise> {
  const values = [accountId, month, maxJudgedTraces, maxJudgedSpans, ofAgents];
  const query = { name: "read-noise", text: readNoiseSql, values };
  const { rows } = await pool.query<Pick<Noise, "traces" | "noise">>(query);
  const { traces, noise } = rows[0] ?? { traces: 0, noise: 0 };
  return { traces, isPart: traces === maxJudgedTraces, noise, isMuch: noise > 0 && noise >= noisyShare * traces };
}

/** Of one look-up. */
const maxTraces = 2_000;
/** Of one transaction: their account's writers wait for it. */
const maxTracesAtOnce = 100;
/** Names of an account and month; traces with further ones count without a name. */
const maxNames = 1_000;

/** Parts of an existing trace wait for its next span: a request that was cut off left them. */
const isNoiseSql = `NOT EXISTS (
      SELECT FROM trace t WHERE t.account_id = p.account_id AND t.otel_trace_id = p.otel_trace_id AND t.otel_trace_id IS NOT NULL
    )`;
/** Whether no part came within $2 ms. */
const isSilentSql = `NOT EXISTS (
      SELECT FROM pending_span o WHERE o.account_id = p.account_id AND o.otel_trace_id = p.otel_trace_id
        AND o.received_at >= now() - $2 * interval '1 millisecond'
    )`;

/**
 * Finds traces that stayed without an agent: those with a root, $2 ms after their last span, others after $1 ms. Ranges of
 * `pending_span_ended_idx`, `pending_span_received_at_idx` and, for a trace, `pending_span_pkey`, a probe of
 * `trace_otel_trace_id_key`.
 */
const findNoiseSql = `
  WITH due AS MATERIALIZED (
    (SELECT account_id, otel_trace_id FROM pending_span p
      WHERE has_root AND received_at < now() - $2 * interval '1 millisecond' AND ${isNoiseSql} ORDER BY received_at LIMIT $3)
    UNION
    (SELECT account_id, otel_trace_id FROM pending_span p
      WHERE received_at < now() - $1 * interval '1 millisecond' AND ${isNoiseSql} ORDER BY received_at LIMIT $3)
  )
  SELECT account_id AS "accountId", array_agg(otel_trace_id) AS "traceIds" FROM due p WHERE ${isSilentSql} GROUP BY account_id`;

/** The month's row. A probe of `trace_usage_pkey`. */
const addMonthSql =
  "INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, $2, 0) ON CONFLICT (account_id, month) DO NOTHING";

/** Who creates a trace or adds pending spans locks its month too: none of them commits until this transaction ends. */
const lockMonthsSql =
  "SELECT FROM trace_usage WHERE account_id = $1 AND month >= $2::date - interval '1 month' ORDER BY month FOR NO KEY UPDATE";

/**
 * Removes the pending spans of an account's traces ($3) that still have no trace and no new part, and counts these traces as
 * dropped in the UTC month ($4), by the name of their root, the most frequent names first; names of the month before last go.
 * A range of `pending_span_pkey` and a probe of `trace_otel_trace_id_key` for a trace, ranges of `dropped_name_pkey`.
 */
const dropNoiseSql = `
  WITH gone AS (
    DELETE FROM pending_span p WHERE p.account_id = $1 AND p.otel_trace_id = ANY($3) AND ${isNoiseSql} AND ${isSilentSql}
    RETURNING p.otel_trace_id, p.root_name
  ), dropped AS (
    SELECT name, count(*)::int AS traces FROM (
      SELECT COALESCE(max(root_name), '') AS name FROM gone GROUP BY otel_trace_id
    ) AS named GROUP BY name
  ), ranked AS (
    SELECT d.*, k.name IS NOT NULL AS is_known, row_number() OVER (PARTITION BY k.name IS NULL ORDER BY d.traces DESC, d.name) AS rank
    FROM dropped d LEFT JOIN dropped_name k ON k.account_id = $1 AND k.month = $4::date AND k.name = d.name
  ), placed AS (
    SELECT CASE WHEN is_known OR rank <= $5 - (
        SELECT count(*) FROM dropped_name WHERE account_id = $1 AND month = $4::date
      ) THEN name ELSE '' END AS name, sum(traces)::int AS traces
    FROM ranked GROUP BY 1
  ), named AS (
    INSERT INTO dropped_name AS n (account_id, month, name, traces) SELECT $1, $4::date, name, traces FROM placed
    ON CONFLICT (account_id, month, name) DO UPDATE SET traces = n.traces + excluded.traces
  ), forgotten AS (
    DELETE FROM dropped_name WHERE account_id = $1 AND month < $4::date - interval '1 month'
  ), counted AS (
    UPDATE trace_usage SET dropped = dropped + (SELECT sum(traces) FROM placed)
    WHERE account_id = $1 AND month = $4::date AND EXISTS (SELECT FROM placed)
  )
  SELECT COALESCE(sum(traces), 0)::int AS traces FROM placed`;

interface NoiseToDrop {
  endedAfterMs: number;
  silentAfterMs: number;
  /** The first day of the UTC month that counts the traces. */
  month: string;
  isStopping(): boolean;
}

/** Of accounts that keep agents' traces alone. Several workers may do so at once. @returns the number of traces */
export async function dropNoise(pool: pg.Pool, how: NoiseToDrop): Promise<number> {
  let [total, last] = [0, 1];
  while (last > 0 && !how.isStopping()) {
    const values = [how.silentAfterMs, how.endedAfterMs, maxTraces];
    const { rows } = await pool.query<{ accountId: string; traceIds: Buffer[] }>(findNoiseSql, values);
    last = 0;
    for (const { accountId, traceIds } of rows)
      for (let n = 0; n < traceIds.length && !how.isStopping(); n += maxTracesAtOnce)
        last += await dropSome(pool, accountId, traceIds.slice(n, n + maxTracesAtOnce), how);
    total += last;
  }
  return total;
}

function dropSome(pool: pg.Pool, accountId: string, traceIds: readonly Buffer[], { endedAfterMs, month }: NoiseToDrop) {
  return withTransaction(pool, async (client) => {
    await client.query(addMonthSql, [accountId, month]);
    await client.query(lockMonthsSql, [accountId, month]);
    const values = [accountId, endedAfterMs, traceIds, month, maxNames];
    return (await client.query<{ traces: number }>(dropNoiseSql, values)).rows[0]?.traces ?? 0;
  });
}
