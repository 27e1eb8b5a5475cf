import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";

const tokenColumns = ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens"];

/**
 * The settled model calls that count, as a table: tokens and cost are null where they are not in the sums. Ranges of
 * `model_call_pkey` or `model_call_agent_idx`, by the conditions of the query around it.
 */
export const countedCallsSql = `(
    SELECT account_id, trace_id, agent_id, started_at, provider, model, cost IS NULL AS lacks_price,
      ${tokenColumns.map((name) => `CASE WHEN counted_part IS DISTINCT FROM 'cost' THEN ${name} END AS ${name}`).join(", ")},
      CASE WHEN counted_part IS DISTINCT FROM 'tokens' THEN cost END AS cost
    FROM model_call WHERE counts
  ) AS counted`;

/** Calls that one statement settles, with all others of their traces: some hundred milliseconds. */
const maxCalls = 2_000;
/** Statements for one reader; the worker settles the rest. */
const maxRounds = 50;
/** Longer than any statement of a service runs: after this time no span of an earlier snapshot can appear. */
const settleAgainSeconds = 30;

/** The span's id in a text, if it is one: a parent's id is any text. */
export const uuidOf = (text: string) =>
  `CASE WHEN ${text} ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN ${text}::uuid END`;

/** Climbs from the spans of the calls in `from` to their ancestors, each once, in a recursive `name (trace_id, id)`. */
const ancestorsSql = (name: string, from: string) => `SELECT c.trace_id, lower(s.parent_span_id) FROM ${from}
    CROSS JOIN LATERAL (
      SELECT id, parent_span_id FROM span WHERE account_id = $1 AND trace_id = c.trace_id AND id = c.span_id OFFSET 0
    ) s
    WHERE lower(s.parent_span_id) <> s.id::text
    UNION
    SELECT b.trace_id, lower(s.parent_span_id) FROM ${name} b
    CROSS JOIN LATERAL (
      SELECT parent_span_id FROM span WHERE account_id = $1 AND trace_id = b.trace_id AND id = ${uuidOf("b.id")} OFFSET 0
    ) s
    WHERE s.parent_span_id IS NOT NULL`;
const amounts = ["calls", "priced_calls", ...tokenColumns, "cost"].join(", ");

/** Which traces a statement settles: `trace_id`s after $2, at most $3; `ending` is one that nothing more can come to. */
const chosen = {
  due: `SELECT DISTINCT trace_id FROM (
      SELECT trace_id FROM model_call WHERE account_id = $1 AND settle_at <= now() AND trace_id > $2 ORDER BY settle_at LIMIT $3
    ) AS due`,
  one: `SELECT $2::uuid AS trace_id WHERE EXISTS (
      SELECT FROM model_call WHERE account_id = $1 AND trace_id = $2 AND settle_at <= now()
    ) LIMIT $3`,
  ending: `SELECT $2::uuid AS trace_id WHERE EXISTS (
      SELECT FROM model_call WHERE account_id = $1 AND trace_id = $2 AND settle_at IS NOT NULL
    ) LIMIT $3`,
  settled: `SELECT trace_id FROM model_call WHERE account_id = $1 AND trace_id > $2
    GROUP BY trace_id HAVING bool_and(settle_at IS NULL) ORDER BY trace_id LIMIT $3`,
} as const;

const addAmountsSql = amounts
  .split(", ")
  .map((column) => `${column} = d.${column} + excluded.${column}`)
  .join(", ");

const callsWithCostSql = `(
      SELECT * FROM weighed WHERE (tells_cost OR counts_tokens AND cost IS NOT NULL)
        AND trace_id IN (SELECT trace_id FROM weighed WHERE tells_cost)
    ) c`;

/**
 * Decides how far the model calls of the chosen traces count, by the rule of `INSIGHT.md`, and books the differences in
 * `model_day`. `above_tokens` are the spans above others with tokens. `above_costs` are those above a told cost or one that
 * counts, looked for only where the sender tells costs. Of a span's versions the latest one counts. Calls of a deleted trace
 * stay as they are. A trace of OpenTelemetry with a gap in its spans is settled again later: the missing span may be in a
 * transaction that this one cannot see. A row's place is safe to use: writers only add rows. Ranges of `model_call_pkey` and
 * probes of `span_pkey` and `model_day_pkey`; runs under `lockSql`, so it alone changes an account's calls and sums.
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
  ), above_tokens (trace_id, id) AS (
    ${ancestorsSql("above_tokens", "(SELECT * FROM calls WHERE is_current AND input_tokens IS NOT NULL) c")}
  ), weighed AS MATERIALIZED (
    SELECT c.*, c.is_current AND c.input_tokens IS NOT NULL AND above.id IS NULL AS counts_tokens,
      c.is_current AND c.cost IS NOT NULL AND (c.input_tokens IS NULL OR c.is_told IS TRUE) AS tells_cost
    FROM calls c LEFT JOIN above_tokens above ON above.trace_id = c.trace_id AND above.id = c.span_id::text
  ), above_costs (trace_id, id) AS (
    ${ancestorsSql("above_costs", callsWithCostSql)}
  ), gaps AS MATERIALIZED (
    SELECT DISTINCT b.trace_id FROM (SELECT * FROM above_tokens UNION SELECT * FROM above_costs) b
    JOIN traces t ON t.trace_id = b.trace_id AND t.is_otel
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM span WHERE account_id = $1 AND trace_id = b.trace_id AND id = ${uuidOf("b.id")} OFFSET 0
    ) s ON true
    WHERE s.is_there IS NULL
  ), priced AS MATERIALIZED (
    SELECT w.*, CASE WHEN w.tells_cost THEN above.id IS NULL ELSE w.counts_tokens AND w.cost IS NOT NULL END AS counts_cost
    FROM weighed w LEFT JOIN above_costs above ON above.trace_id = w.trace_id AND above.id = w.span_id::text
  ), decided AS MATERIALIZED (
    SELECT p.*, CASE WHEN p.is_live THEN p.counts_tokens OR p.counts_cost ELSE p.counts END AS next_counts,
      CASE WHEN NOT p.is_live THEN p.counted_part
        WHEN p.counts_tokens AND p.tells_cost AND NOT p.counts_cost THEN 'tokens'
        WHEN p.counts_cost AND p.input_tokens IS NOT NULL AND NOT p.counts_tokens THEN 'cost' END AS next_part,
      CASE WHEN p.is_live AND p.trace_id IN (SELECT trace_id FROM gaps)
        AND p.written_at > now() - interval '${settleAgainSeconds} s'
        THEN p.written_at + interval '${settleAgainSeconds} s' END AS next_settle_at
    FROM priced p
  ), changed AS MATERIALIZED (
    SELECT * FROM decided WHERE counts <> next_counts OR counted_part IS DISTINCT FROM next_part
      OR counts AND is_live AND agent_id IS DISTINCT FROM next_agent
  ), booked AS (
    INSERT INTO model_day AS d (account_id, day, agent_id, provider, model, ${amounts})
    SELECT $1, started_at::date, agent, provider, model, sum(sign) AS calls,
      sum(CASE WHEN cost IS NULL OR part = 'tokens' THEN 0 ELSE sign END),
      ${tokenColumns.map((name) => `COALESCE(sum(sign * ${name}) FILTER (WHERE part IS DISTINCT FROM 'cost'), 0)`).join(", ")},
      COALESCE(sum(sign * cost) FILTER (WHERE part IS DISTINCT FROM 'tokens'), 0)
    FROM (
      SELECT -1 AS sign, agent_id AS agent, counted_part AS part, c.* FROM changed c WHERE counts
      UNION ALL SELECT 1, next_agent, next_part, c.* FROM changed c WHERE next_counts
    ) AS signed GROUP BY 2, 3, 4, 5
    ON CONFLICT (account_id, day, agent_id, provider, model) DO UPDATE SET ${addAmountsSql}
  ), removed AS (
    DELETE FROM model_call m USING decided d
    WHERE d.is_live AND NOT d.is_current AND m.ctid = d.place
  ), settled AS (
    UPDATE model_call m SET counts = d.next_counts, counted_part = d.next_part, settle_at = d.next_settle_at,
      agent_id = CASE WHEN d.is_live THEN d.next_agent ELSE m.agent_id END
    FROM decided d
    WHERE (d.is_current OR NOT d.is_live) AND m.ctid = d.place AND (m.settle_at IS NOT NULL OR m.counts <> d.next_counts
        OR m.counted_part IS DISTINCT FROM d.next_part OR d.is_live AND m.agent_id IS DISTINCT FROM d.next_agent)
  )
  SELECT (SELECT count(*)::int FROM traces) AS traces, (SELECT count(*)::int FROM changed) AS changed,
    (SELECT trace_id FROM traces ORDER BY trace_id DESC LIMIT 1) AS last`;

const statements = {
  due: { name: "settle-due-calls", text: settleSql("due") },
  one: { name: "settle-calls-of-trace", text: settleSql("one") },
  ending: { name: "settle-calls-of-ending-trace", text: settleSql("ending") },
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

/** Books new calls, so that sums are those of all committed spans; one probe if none. @returns whether none is left */
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

export async function listAccountsWithDueCalls(pool: pg.Pool): Promise<string[]> {
  return (await pool.query<{ id: string }>(findDueAccountsSql)).rows.map(({ id }) => id);
}
