import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";

/** Calls that one statement settles, with all others of their traces: some hundred milliseconds. */
const maxCalls = 2_000;
/** Statements for one reader; the worker settles the rest. */
const maxRounds = 50;
/** Longer than any statement of a service runs: after this time no span of an earlier snapshot can appear. */
const settleAgainSeconds = 30;

/** A parent's id is any text. */
const uuidOf = (text: string) =>
  `CASE WHEN ${text} ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN ${text}::uuid END`;
const amounts =
  "calls, priced_calls, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost";

/** Which traces a statement settles: `trace_id`s after $2, at most $3. */
const chosen = {
  due: `SELECT DISTINCT trace_id FROM (
      SELECT trace_id FROM model_call WHERE account_id = $1 AND settle_at <= now() AND trace_id > $2 ORDER BY settle_at LIMIT $3
    ) AS due`,
  one: `SELECT $2::uuid AS trace_id WHERE EXISTS (
      SELECT FROM model_call WHERE account_id = $1 AND trace_id = $2 AND settle_at <= now()
    ) LIMIT $3`,
  settled: `SELECT trace_id FROM model_call WHERE account_id = $1 AND trace_id > $2
    GROUP BY trace_id HAVING bool_and(settle_at IS NULL) ORDER BY trace_id LIMIT $3`,
} as const;

/**
 * Decides which model calls of the chosen traces count, and books the differences in `model_day`. A call counts unless a span
 * below its own reports tokens. `below` climbs from each span with tokens to its ancestors, each once. Of a span's versions the
 * latest one counts. Calls of a deleted trace stay as they are. A trace of OpenTelemetry with a gap in its spans is settled
 * again later: the missing span may be in a transaction that this one cannot see. A row's place is safe to use: writers only
 * add rows. Ranges of `model_call_pkey` and probes of
 * `span_pkey` and `model_day_pkey`; runs under `lockSql`, so it alone changes an account's calls and sums.
 */
const settleSql = (traces: keyof typeof chosen) => `
  WITH RECURSIVE traces AS MATERIALIZED (
    SELECT c.trace_id, t.agent_id, t.otel_trace_id IS NOT NULL AS is_otel
    FROM (${chosen[traces]}) c
    LEFT JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = c.trace_id OFFSET 0) t ON true
  ), calls AS MATERIALIZED (
    SELECT m.*, traces.agent_id AS next_agent, traces.agent_id IS NOT NULL AS is_live, is_otel,
      row_number() OVER (PARTITION BY m.trace_id, m.span_id ORDER BY m.version DESC) = 1
        AND (m.input_tokens IS NOT NULL OR m.cost IS NOT NULL) AS is_current
    FROM traces
    CROSS JOIN LATERAL (SELECT ctid AS place, * FROM model_call WHERE account_id = $1 AND trace_id = traces.trace_id OFFSET 0) m
  ), below (trace_id, id) AS (
    SELECT c.trace_id, lower(s.parent_span_id) FROM calls c
    CROSS JOIN LATERAL (
      SELECT id, parent_span_id FROM span WHERE account_id = $1 AND trace_id = c.trace_id AND id = c.span_id OFFSET 0
    ) s
    WHERE c.is_current AND c.input_tokens IS NOT NULL AND lower(s.parent_span_id) <> s.id::text
    UNION
    SELECT b.trace_id, lower(s.parent_span_id) FROM below b
    CROSS JOIN LATERAL (
      SELECT parent_span_id FROM span WHERE account_id = $1 AND trace_id = b.trace_id AND id = ${uuidOf("b.id")} OFFSET 0
    ) s
    WHERE s.parent_span_id IS NOT NULL
  ), gaps AS MATERIALIZED (
    SELECT DISTINCT b.trace_id FROM below b JOIN traces t ON t.trace_id = b.trace_id AND t.is_otel
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM span WHERE account_id = $1 AND trace_id = b.trace_id AND id = ${uuidOf("b.id")} OFFSET 0
    ) s ON true
    WHERE s.is_there IS NULL
  ), decided AS MATERIALIZED (
    SELECT c.*, CASE WHEN NOT c.is_live THEN c.counts
      ELSE c.is_current AND b.id IS NULL END AS next_counts,
      CASE WHEN c.is_live AND c.trace_id IN (SELECT trace_id FROM gaps)
        AND c.written_at > now() - interval '${settleAgainSeconds} s'
        THEN c.written_at + interval '${settleAgainSeconds} s' END AS next_settle_at
    FROM calls c LEFT JOIN below b ON b.trace_id = c.trace_id AND b.id = c.span_id::text
  ), changed AS MATERIALIZED (
    SELECT * FROM decided
    WHERE counts <> next_counts OR counts AND is_live AND agent_id IS DISTINCT FROM next_agent
  ), booked AS (
    INSERT INTO model_day AS d (account_id, day, agent_id, provider, model, ${amounts})
    SELECT $1, started_at::date, agent, provider, model, sum(sign) AS calls, sum(CASE WHEN cost IS NULL THEN 0 ELSE sign END),
      COALESCE(sum(sign * input_tokens), 0), COALESCE(sum(sign * output_tokens), 0),
      COALESCE(sum(sign * cached_input_tokens), 0), COALESCE(sum(sign * cache_write_tokens), 0),
      COALESCE(sum(sign * reasoning_tokens), 0), COALESCE(sum(sign * cost), 0)
    FROM (
      SELECT -1 AS sign, agent_id AS agent, c.* FROM changed c WHERE counts
      UNION ALL SELECT 1, next_agent, c.* FROM changed c WHERE next_counts
    ) AS signed GROUP BY 2, 3, 4, 5
    ON CONFLICT (account_id, day, agent_id, provider, model) DO UPDATE SET
      ${amounts
        .split(", ")
        .map((column) => `${column} = d.${column} + excluded.${column}`)
        .join(", ")}
  ), removed AS (
    DELETE FROM model_call m USING decided d
    WHERE d.is_live AND NOT d.is_current AND m.ctid = d.place
  ), settled AS (
    UPDATE model_call m SET counts = d.next_counts, settle_at = d.next_settle_at,
      agent_id = CASE WHEN d.is_live THEN d.next_agent ELSE m.agent_id END
    FROM decided d
    WHERE (d.is_current OR NOT d.is_live) AND m.ctid = d.place AND (m.settle_at IS NOT NULL OR m.counts <> d.next_counts
        OR d.is_live AND m.agent_id IS DISTINCT FROM d.next_agent)
  )
  SELECT (SELECT count(*)::int FROM traces) AS traces, (SELECT count(*)::int FROM changed) AS changed,
    (SELECT trace_id FROM traces ORDER BY trace_id DESC LIMIT 1) AS last`;

const statements = {
  due: { name: "settle-due-calls", text: settleSql("due") },
  one: { name: "settle-calls-of-trace", text: settleSql("one") },
  settled: { name: "settle-calls-again", text: settleSql("settled") },
} as const;

/** Serializes an account's settling until commit. */
const lockSql = "SELECT pg_advisory_xact_lock(hashtext('model_call'), hashtext($1))";

/** Along `model_call_unsettled_idx`. */
const hasDueSql = "SELECT EXISTS (SELECT FROM model_call WHERE account_id = $1 AND settle_at <= now()) AS due";
/** The trace's range of `model_call_pkey`. */
const hasDueOfTraceSql =
  "SELECT EXISTS (SELECT FROM model_call WHERE account_id = $1 AND trace_id = $2 AND settle_at <= now()) AS due";

interface Settled {
  traces: number;
  /** Calls whose part in the sums changed. */
  changed: number;
  last: string | null;
}

export async function lockCalls(client: pg.ClientBase, accountId: string): Promise<void> {
  await client.query(lockSql, [accountId]);
}

/** Settles some traces under {@link lockCalls}. @param from a trace's id: that trace, or those after it */
export async function settleTraces(
  client: pg.ClientBase,
  which: keyof typeof statements,
  accountId: string,
  from: string,
): Promise<Settled> {
  const { rows } = await client.query<Settled>({ ...statements[which], values: [accountId, from, maxCalls] });
  return rows[0] ?? { traces: 0, changed: 0, last: null };
}

/**
 * Books an account's new model calls, or those of one trace, so that the sums are those of all committed spans. It costs one
 * probe where there are none.
 * @returns whether none is left
 */
export async function settleCalls(pool: pg.Pool, accountId: string, traceId?: string): Promise<boolean> {
  const find =
    traceId === undefined
      ? { name: "has-due-calls", text: hasDueSql, values: [accountId] }
      : { name: "has-due-calls-of-trace", text: hasDueOfTraceSql, values: [accountId, traceId] };
  for (let round = 0; round < maxRounds; round++) {
    const { rows } = await pool.query<{ due: boolean }>(find);
    if (!rows[0]?.due) return true;
    await withTransaction(pool, async (client) => {
      await lockCalls(client, accountId);
      await settleTraces(client, traceId === undefined ? "due" : "one", accountId, traceId ?? smallestUuid);
    });
  }
  return false;
}

/** Reads the whole index of unsettled calls, which is small. */
const findDueAccountsSql = "SELECT DISTINCT account_id AS id FROM model_call WHERE settle_at <= now()";

/** The accounts with calls to settle. */
export async function listAccountsWithDueCalls(pool: pg.Pool): Promise<string[]> {
  return (await pool.query<{ id: string }>(findDueAccountsSql)).rows.map(({ id }) => id);
}
