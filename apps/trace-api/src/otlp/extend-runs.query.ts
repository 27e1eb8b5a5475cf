import { type Batching, oneByOne } from "@waymark/traces";
import { codexTrace } from "@waymark/traces/otlp";
import type pg from "pg";

/**
 * Finds the last prompts of Codex conversations before a time: their traces' ids are a conversation's hash and the time of a
 * prompt. One probe of `trace_otel_trace_id_key` and of `deleted_otel_trace_pkey` for each.
 */
const findPromptsSql = `
  SELECT encode(substring(GREATEST(
    (
      SELECT t.otel_trace_id FROM trace t WHERE t.account_id = $1 AND t.otel_trace_id BETWEEN q.first AND q.last
        AND t.otel_trace_id IS NOT NULL ORDER BY t.otel_trace_id DESC LIMIT 1
    ),
    (
      SELECT d.otel_trace_id FROM deleted_otel_trace d WHERE d.account_id = $1 AND d.otel_trace_id BETWEEN q.first AND q.last
      ORDER BY d.otel_trace_id DESC LIMIT 1
    )
  ) FROM 9), 'hex') AS nanos
  FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS q (first, last, number) ORDER BY q.number`;

const maxConversations = 200;

/** @param starts of their first events, in nanoseconds @returns the time of the last stored prompt before each */
export async function findPrompts(
  pool: pg.Pool,
  accountId: string,
  starts: ReadonlyMap<string, bigint>,
): Promise<Map<string, bigint>> {
  const prompts = new Map<string, bigint>();
  const all = [...starts];
  for (let i = 0; i < all.length; i += maxConversations) {
    const some = all.slice(i, i + maxConversations);
    const { rows } = await pool.query<{ nanos: string | null }>({
      name: "find-codex-prompts",
      text: findPromptsSql,
      values: [accountId, some.map(([session]) => codexTrace(session, 0n)), some.map((each) => codexTrace(...each))],
    });
    for (const [n, [session]] of some.entries()) {
      const nanos = rows[n]?.nanos;
      if (nanos) prompts.set(session, BigInt(`0x${nanos}`));
    }
  }
  return prompts;
}

/**
 * Moves the end of a run, and of its prompt's span, to that of its latest span: no event tells it. A probe of `trace_pkey` and
 * the trace's range of `span_pkey`.
 */
const extendRunSql = `
  WITH latest AS MATERIALIZED (
    SELECT max(ended_at) AS ended_at FROM span WHERE account_id = $1 AND trace_id = $2
  ), root AS MATERIALIZED (
    SELECT root_span_id AS id FROM trace WHERE account_id = $1 AND id = $2 AND is_root_local IS NOT TRUE
  ), extended AS (
    UPDATE trace t SET ended_at = latest.ended_at, written_at = now() FROM latest
    WHERE t.account_id = $1 AND t.id = $2 AND t.root_span_id IS NOT NULL AND t.ended_at < latest.ended_at
  )
  UPDATE span s SET ended_at = latest.ended_at, written_at = now() FROM latest
  WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = (SELECT id FROM root) AND s.ended_at < latest.ended_at`;

export function createRunExtender(batching: Batching) {
  return oneByOne<{ accountId: string; traceId: string }, void>(
    batching,
    "extend-run",
    async (pool, { accountId, traceId }) => {
      await pool.query({ name: "extend-run", text: extendRunSql, values: [accountId, traceId] });
    },
  );
}
