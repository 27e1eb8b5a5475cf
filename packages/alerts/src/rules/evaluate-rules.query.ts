import { withTransaction } from "@waymark/database";
import { settleCalls, statusTimeSql } from "@waymark/traces";
import type pg from "pg";
import { plansWithAlerts } from "../alert-rule.js";
import { enqueueEvent } from "../channels/enqueue-event.query.js";
import { eachAccount } from "../turns.js";

/** Traces that began earlier do not count when they end. */
const maxTraceSeconds = 86_400;

/** Model calls that began earlier do not count for a rule about tokens or one trace. */
const maxCallSeconds = 7_200;
/** A trace with a call in this time is looked at by a rule about one trace. */
const traceSeconds = 3_600;

/** What a rule is evaluated from. */
const sourceSql = `CASE WHEN cost_per = 'trace' OR above_tokens IS NOT NULL THEN 'calls' WHEN cost_per IS NULL THEN 'ended'
    WHEN user_id IS NULL AND environment IS NULL THEN 'days' ELSE 'labels' END`;

// Accounts with alerts that have a rule of the sources.
const findAccountsSql = `
  SELECT r.account_id, bool_or(${sourceSql} <> 'ended') AS has_calls
  FROM alert_rule r JOIN account a ON a.id = r.account_id AND a.plan = ANY ($1)
  WHERE ${sourceSql} = ANY ($2) GROUP BY 1 ORDER BY 1`;

// Another worker evaluates locked ones.
const lockRulesSql = `
  SELECT id, ${sourceSql} AS source FROM alert_rule WHERE account_id = $1 AND ${sourceSql} = ANY ($2) ORDER BY id
  FOR NO KEY UPDATE SKIP LOCKED`;

/** Whether a row of traces or calls is of the rule's agent, user or environment. */
const isOfRuleSql = (row: string) =>
  ["agent_id", "user_id", "environment"]
    .map((name) => `(rule.${name} IS NULL OR rule.${name} = ${row}.${name})`)
    .join(" AND ");

const rulesSql = "SELECT * FROM alert_rule WHERE account_id = $1 AND id = ANY ($2)";
const ruleColumns = `rule.id, rule.agent_id AS "agentId", rule.user_id AS "userId", rule.environment, rule.is_crossed AS "isCrossed"`;

/**
 * The rules with their ended traces, counted by the time of the end's receipt. Reads the account's traces of the longest time
 * and a day before it along `trace_pkey`, once for all rules.
 */
const endedSql = `
  WITH rule AS MATERIALIZED (${rulesSql}), ended AS MATERIALIZED (
    SELECT agent_id, user_id, environment, status, ${statusTimeSql} AS since,
      CASE WHEN ended_at >= started_at THEN extract(epoch FROM ended_at - started_at) * 1000 END AS ms
    FROM trace
    WHERE account_id = $1 AND status <> 'running' AND EXISTS (SELECT FROM rule WHERE ${isOfRuleSql("trace")})
      AND id >= uuid_floor(now() - make_interval(secs => ${maxTraceSeconds} + (SELECT max(within_seconds) FROM rule)))
      AND ${statusTimeSql} > now() - make_interval(secs => (SELECT max(within_seconds) FROM rule))
  ), counted AS (
    SELECT rule.id, (percentile_disc(0.95) WITHIN GROUP (ORDER BY ended.ms) FILTER (WHERE above_ms IS NOT NULL))::float8 AS "p95Ms",
      count(ended.status)::int AS traces, (count(*) FILTER (WHERE ended.status IN ('error', 'timeout')))::int AS failures
    FROM rule LEFT JOIN ended ON ${isOfRuleSql("ended")} AND ended.since > now() - make_interval(secs => rule.within_seconds)
    GROUP BY rule.id
  )
  SELECT ${ruleColumns}, above_percent::float8 AS "abovePercent", of_traces AS "ofTraces", within_seconds AS "withinSeconds",
    above_ms::float8 AS "aboveMs", counted."p95Ms", counted.traces, counted.failures
  FROM rule JOIN counted USING (id)`;

const inMonthSql = (column: string, type: string) =>
  `${column} >= date_trunc('month', $3::${type}) AND ${column} < date_trunc('month', $3::${type}) + interval '1 month'`;

const costColumns = `cost_per AS "costPer", trim_scale(above_cost)::text AS "aboveCost", trim_scale(s.cost)::text AS cost,
    s.cost > above_cost AS "isAbove"`;

/**
 * The rules about cost with the account's sums, those of `/usage/models`. Reads the month of `model_day` once for all rules, a
 * range of its key: a row for each day, agent and model, whatever the number of traces.
 */
const daysSql = `
  WITH rule AS MATERIALIZED (${rulesSql}), cost AS MATERIALIZED (
    SELECT agent_id, COALESCE(sum(cost) FILTER (WHERE day = $3::date), 0) AS day, sum(cost) AS month FROM model_day
    WHERE account_id = $1 AND ${inMonthSql("day", "timestamp")} GROUP BY agent_id
  )
  SELECT ${ruleColumns}, ${costColumns} FROM rule CROSS JOIN LATERAL (
    SELECT COALESCE(sum(CASE rule.cost_per WHEN 'day' THEN day ELSE month END), 0) AS cost FROM cost
    WHERE rule.agent_id IS NULL OR cost.agent_id = rule.agent_id
  ) s`;

/** The same for users and environments, by the traces of the month's calls: a probe of `trace_pkey` for each. */
const labelsSql = `
  WITH rule AS MATERIALIZED (${rulesSql}), cost AS MATERIALIZED (
    SELECT t.agent_id, t.user_id, t.environment,
      COALESCE(sum(c.cost) FILTER (WHERE (c.started_at AT TIME ZONE 'UTC')::date = $3::date), 0) AS day, sum(c.cost) AS month
    FROM (
      SELECT DISTINCT agent_id FROM model_day WHERE account_id = $1 AND ${inMonthSql("day", "timestamp")}
    ) a JOIN model_call c ON c.account_id = $1 AND c.agent_id = a.agent_id AND c.counts AND ${inMonthSql("c.started_at", "timestamptz")}
    JOIN trace t ON t.account_id = $1 AND t.id = c.trace_id
    WHERE EXISTS (SELECT FROM rule WHERE ${isOfRuleSql("t")})
    GROUP BY t.agent_id, t.user_id, t.environment
  )
  SELECT ${ruleColumns}, ${costColumns} FROM rule CROSS JOIN LATERAL (
    SELECT COALESCE(sum(CASE rule.cost_per WHEN 'day' THEN day ELSE month END), 0) AS cost FROM cost WHERE ${isOfRuleSql("cost")}
  ) s`;

/**
 * The rules about tokens or one trace, from the calls of two hours along `model_call_agent_idx` by the agents of two days, once for
 * all rules.
 */
const callsSql = `
  WITH rule AS MATERIALIZED (${rulesSql}), recent AS MATERIALIZED (
    SELECT c.trace_id, t.agent_id, t.user_id, t.environment, c.written_at,
      COALESCE(c.input_tokens, 0) + COALESCE(c.output_tokens, 0) AS tokens
    FROM (SELECT DISTINCT agent_id FROM model_day WHERE account_id = $1 AND day >= $3::date - 1) a
    JOIN model_call c ON c.account_id = $1 AND c.agent_id = a.agent_id AND c.counts
      AND c.started_at > now() - make_interval(secs => ${maxCallSeconds})
    JOIN trace t ON t.account_id = $1 AND t.id = c.trace_id
    WHERE EXISTS (SELECT FROM rule WHERE ${isOfRuleSql("t")})
  ), spent AS MATERIALIZED (
    SELECT r.*, (SELECT sum(cost) FROM model_call c WHERE c.account_id = $1 AND c.trace_id = r.trace_id AND c.counts) AS cost
    FROM (
      SELECT DISTINCT trace_id, agent_id, user_id, environment FROM recent
      WHERE written_at > now() - make_interval(secs => ${traceSeconds}) AND EXISTS (SELECT FROM rule WHERE cost_per = 'trace')
    ) r
  )
  SELECT ${ruleColumns}, ${costColumns}, within_seconds AS "withinSeconds", above_tokens::float8 AS "aboveTokens",
    most.trace_id AS "traceId", calls.tokens::float8 AS tokens
  FROM rule LEFT JOIN LATERAL (
    SELECT trace_id, cost FROM spent WHERE rule.cost_per = 'trace' AND cost IS NOT NULL AND ${isOfRuleSql("spent")}
    ORDER BY cost DESC LIMIT 1
  ) most ON true LEFT JOIN LATERAL (
    SELECT COALESCE(sum(tokens), 0) AS tokens FROM recent
    WHERE rule.cost_per IS NULL AND written_at > now() - make_interval(secs => rule.within_seconds) AND ${isOfRuleSql("recent")}
  ) calls ON true CROSS JOIN LATERAL (SELECT COALESCE(most.cost, 0) AS cost) s`;

const noteSql = "UPDATE alert_rule SET is_crossed = $3, changed_at = now() WHERE account_id = $1 AND id = $2";

interface Rule {
  id: string;
  agentId: string | null;
  userId: string | null;
  environment: string | null;
  isCrossed: boolean;
}

interface EndedRule extends Rule {
  abovePercent: number;
  ofTraces: number;
  withinSeconds: number;
  traces: number;
  failures: number;
  /** Of a rule about durations, which has no percent and number. */
  aboveMs: number | null;
  /** By nearest rank, of traces with an end after their start; null without any. */
  p95Ms: number | null;
}

interface CostRule extends Rule {
  costPer: string;
  aboveCost: string;
  cost: string;
  isAbove: boolean;
}

interface CallsRule extends CostRule {
  withinSeconds: number;
  /** Of a rule about tokens, which has no cost. */
  aboveTokens: number | null;
  tokens: number;
  /** The trace that cost most. */
  traceId: string | null;
}

interface Finding {
  isAbove: boolean;
  name: string;
  error: string;
}

export type RuleSource = "ended" | "days" | "calls" | "labels";

const sources: Readonly<Record<RuleSource, { sql: string; find(rule: never, today: string): Finding }>> = {
  ended: {
    sql: endedSql,
    find: (rule: EndedRule) => (rule.aboveMs === null ? findRate(rule) : findDuration(rule, rule.aboveMs)),
  },
  days: { sql: daysSql, find: findCost },
  labels: { sql: labelsSql, find: findCost },
  calls: {
    sql: callsSql,
    find: (rule: CallsRule) => (rule.aboveTokens === null ? findTraceCost(rule) : findTokens(rule, rule.aboveTokens)),
  },
};

/** Sources that take short, and the other one. */
export const ruleSources = { short: ["ended", "days", "calls"], long: ["labels"] } as const satisfies Record<
  string,
  readonly RuleSource[]
>;

interface Evaluation {
  isStopping(): boolean;
  /** Its UTC day and month are those of rules about cost. */
  now?: (() => Date) | undefined;
  sources?: readonly RuleSource[];
}

/** Tells once that a rule is crossed, and once that it is no more, in one transaction. @returns rules changed */
export async function evaluateRules(
  pool: pg.Pool,
  { isStopping, now = () => new Date(), sources: asked = ruleSources.short }: Evaluation,
): Promise<number> {
  const { rows } = await pool.query<{ account_id: string; has_calls: boolean }>(findAccountsSql, [
    plansWithAlerts,
    asked,
  ]);
  return eachAccount(rows, async ({ account_id: accountId, has_calls }) => {
    if (isStopping()) return 0;
    if (has_calls) await settleCalls(pool, accountId);
    const today = now().toISOString().slice(0, 10);
    return withTransaction(pool, (client) => evaluateAccount(client, { accountId, today, asked }));
  });
}

interface AccountToEvaluate {
  accountId: string;
  today: string;
  asked: readonly RuleSource[];
}

async function evaluateAccount(client: pg.ClientBase, { accountId, today, asked }: AccountToEvaluate): Promise<number> {
  const { rows: locked } = await client.query<{ id: string; source: RuleSource }>(lockRulesSql, [accountId, asked]);
  let changes = 0;
  for (const source of asked) {
    const ids = locked.filter((each) => each.source === source).map(({ id }) => id);
    if (ids.length === 0) continue;
    const { sql, find } = sources[source];
    const values = source === "ended" ? [accountId, ids] : [accountId, ids, today];
    const { rows } = await client.query<Rule>(sql, values);
    for (const rule of rows) {
      const { isAbove, name, error } = find(rule as never, today);
      if (isAbove === rule.isCrossed) continue;
      changes++;
      await client.query(noteSql, [accountId, rule.id, isAbove]);
      const data = { agent_id: rule.agentId, name: name + ofWhom(rule), status: isAbove ? "crossed" : "back", error };
      await enqueueEvent(client, { accountId, type: "alert.rule", data });
    }
  }
  return changes;
}

function ofWhom({ userId, environment }: Rule): string {
  if (userId !== null) return `, user ${userId}`;
  return environment === null ? "" : `, environment ${environment}`;
}

/** The UTC day or month stands beside its sum. */
function findCost({ costPer, aboveCost, cost, isAbove }: CostRule, today: string): Finding {
  const period = costPer === "day" ? today : today.slice(0, 7);
  return { isAbove, name: `Cost above $${aboveCost} a ${costPer}`, error: `$${cost} in ${period} (UTC)` };
}

function findTraceCost({ aboveCost, cost, isAbove, traceId }: CallsRule): Finding {
  const error = traceId === null ? "No trace had a priced call within the hour" : `$${cost} for trace ${traceId}`;
  return { isAbove, name: `Cost of a trace above $${aboveCost}`, error };
}

function findTokens({ tokens, withinSeconds }: CallsRule, aboveTokens: number): Finding {
  const perMinute = (tokens * 60) / withinSeconds;
  return {
    isAbove: perMinute > aboveTokens,
    name: `Tokens above ${aboveTokens} a minute within ${durationText(withinSeconds)}`,
    error: `${Math.round(perMinute)} tokens a minute`,
  };
}

function findRate({ abovePercent, ofTraces, withinSeconds, traces, failures }: EndedRule): Finding {
  const percent = traces === 0 ? 0 : Math.round((failures / traces) * 1_000) / 10;
  return {
    isAbove: traces >= ofTraces && failures * 100 > abovePercent * traces,
    name: `Failure rate above ${abovePercent} % of at least ${ofTraces} traces within ${durationText(withinSeconds)}`,
    error: `${failures} of ${traces} ended traces failed (${percent} %)`,
  };
}

function findDuration({ withinSeconds, p95Ms }: EndedRule, aboveMs: number): Finding {
  return {
    isAbove: p95Ms !== null && p95Ms > aboveMs,
    name: `95th percentile of durations above ${aboveMs / 1_000} s within ${durationText(withinSeconds)}`,
    error: p95Ms === null ? "No trace ended" : `The 95th percentile is ${Math.round(p95Ms) / 1_000} s`,
  };
}

/** Such as `15m`, as the command line takes it. */
function durationText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
