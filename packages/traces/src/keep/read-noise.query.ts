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
  /** Whether they are a fifth or more. */
  isMuch: boolean;
}

/** How much of a month, by its latest traces, has no agent. `month` is its first day, `YYYY-MM-DD`. */
export async function readNoise(
  pool: pg.Pool,
  { accountId, month }: { accountId: string; month: string },
): Promise<Noise> {
  const values = [accountId, month, maxJudgedTraces, maxJudgedSpans, ofAgents];
  const { rows } = await pool.query<Omit<Noise, "isMuch">>({ name: "read-noise", text: readNoiseSql, values });
  const { traces, noise } = rows[0] ?? { traces: 0, noise: 0 };
  return { traces, noise, isMuch: noise > 0 && noise >= noisyShare * traces };
}
