import { withTransaction } from "@waymark/database";
import { settleCalls, statusTimeSql } from "@waymark/traces";
import type pg from "pg";
import { plansWithAlerts } from "../alert-rule.js";
import { enqueueEvent } from "../channels/enqueue-event.query.js";
import { eachAccount } from "../turns.js";

/** Traces that began earlier do not count when they end. */
const maxTraceSeconds = 86_400;

// Accounts with alerts that have a rule.
const findAccountsSql = `
  SELECT r.account_id, bool_or(r.cost_per IS NOT NULL) AS has_costs
  FROM alert_rule r JOIN account a ON a.id = r.account_id AND a.plan = ANY ($1) GROUP BY 1 ORDER BY 1`;

// Another worker evaluates locked ones.
const lockRulesSql =
  'SELECT id, cost_per AS "costPer" FROM alert_rule WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED';

/**
 * The rules with their agents' ended traces, counted by the time of the end's receipt. Reads the account's traces of the
 * longest time and a day before it along `trace_pkey`, once for all rules.
 */
const countSql = `
  WITH rule AS MATERIALIZED (
    SELECT * FROM alert_rule WHERE account_id = $1 AND id = ANY ($2) AND cost_per IS NULL
  ), ended AS MATERIALIZED (
    SELECT agent_id, status, ${statusTimeSql} AS since,
      CASE WHEN ended_at >= started_at THEN extract(epoch FROM ended_at - started_at) * 1000 END AS ms
    FROM trace
    WHERE account_id = $1 AND status <> 'running'
      AND (agent_id IN (SELECT agent_id FROM rule) OR EXISTS (SELECT FROM rule WHERE agent_id IS NULL))
      AND id >= uuid_floor(now() - make_interval(secs => $3 + (SELECT max(within_seconds) FROM rule)))
      AND ${statusTimeSql} > now() - make_interval(secs => (SELECT max(within_seconds) FROM rule))
  )
  SELECT rule.id, rule.agent_id AS "agentId", rule.above_percent::float8 AS "abovePercent", rule.of_traces AS "ofTraces",
    rule.within_seconds AS "withinSeconds", rule.is_crossed AS "isCrossed", rule.above_ms::float8 AS "aboveMs",
    (percentile_disc(0.95) WITHIN GROUP (ORDER BY ended.ms) FILTER (WHERE rule.above_ms IS NOT NULL))::float8 AS "p95Ms",
    count(ended.status)::int AS traces,
    (count(*) FILTER (WHERE ended.status IN ('error', 'timeout')))::int AS failures
  FROM rule LEFT JOIN ended ON (ended.agent_id = rule.agent_id OR rule.agent_id IS NULL)
    AND ended.since > now() - make_interval(secs => rule.within_seconds)
  GROUP BY rule.id, rule.agent_id, rule.above_percent, rule.of_traces, rule.within_seconds, rule.is_crossed, rule.above_ms`;

/**
 * The rules about cost with the account's sums, those of `/usage/models`. Reads the month of `model_day` once for all rules, a
 * range of its key: a row for each day, agent and model, whatever the number of traces.
 */
const costSql = `
  WITH cost AS MATERIALIZED (
    SELECT agent_id, COALESCE(sum(cost) FILTER (WHERE day = $3::date), 0) AS day, sum(cost) AS month FROM model_day
    WHERE account_id = $1 AND day >= date_trunc('month', $3::timestamp) AND day < date_trunc('month', $3::timestamp) + interval '1 month'
    GROUP BY agent_id
  )
  SELECT r.id, r.agent_id AS "agentId", r.cost_per AS "costPer", trim_scale(r.above_cost)::text AS "aboveCost",
    r.is_crossed AS "isCrossed", trim_scale(s.cost)::text AS cost, s.cost > r.above_cost AS "isAbove"
  FROM alert_rule r CROSS JOIN LATERAL (
    SELECT COALESCE(sum(CASE r.cost_per WHEN 'day' THEN day ELSE month END), 0) AS cost FROM cost
    WHERE r.agent_id IS NULL OR cost.agent_id = r.agent_id
  ) s
  WHERE r.account_id = $1 AND r.id = ANY ($2) AND r.cost_per IS NOT NULL`;

const noteSql = "UPDATE alert_rule SET is_crossed = $3, changed_at = now() WHERE account_id = $1 AND id = $2";

interface CountedRule {
  id: string;
  agentId: string | null;
  abovePercent: number;
  ofTraces: number;
  withinSeconds: number;
  isCrossed: boolean;
  traces: number;
  failures: number;
  /** Of a rule about durations, which has no percent and number. */
  aboveMs: number | null;
  /** By nearest rank, of traces with an end after their start; null without any. */
  p95Ms: number | null;
}

interface CostRule {
  id: string;
  agentId: string | null;
  costPer: string;
  aboveCost: string;
  isCrossed: boolean;
  cost: string;
  isAbove: boolean;
}

interface Evaluation {
  isStopping(): boolean;
  /** Its UTC day and month are those of rules about cost. */
  now?: (() => Date) | undefined;
}

/**
 * Tells accounts once that a rule is crossed, and once that it is so no more: the state and its event are one transaction.
 * @returns how many rules changed
 */
export async function evaluateRules(
  pool: pg.Pool,
  { isStopping, now = () => new Date() }: Evaluation,
): Promise<number> {
  const { rows } = await pool.query<{ account_id: string; has_costs: boolean }>(findAccountsSql, [plansWithAlerts]);
  return eachAccount(rows, async ({ account_id: accountId, has_costs }) => {
    if (isStopping()) return 0;
    if (has_costs) await settleCalls(pool, accountId);
    return withTransaction(pool, (client) => evaluateAccount(client, accountId, now().toISOString().slice(0, 10)));
  });
}

async function evaluateAccount(client: pg.ClientBase, accountId: string, today: string): Promise<number> {
  const { rows: locked } = await client.query<{ id: string; costPer: string | null }>(lockRulesSql, [accountId]);
  const idsOf = (aboutCost: boolean) => locked.filter((it) => (it.costPer !== null) === aboutCost).map(({ id }) => id);
  const [rateIds, costIds] = [idsOf(false), idsOf(true)];
  const rates = rateIds.length === 0 ? [] : await readRates(client, [accountId, rateIds, maxTraceSeconds]);
  const costs = costIds.length === 0 ? [] : await readCosts(client, [accountId, costIds, today]);
  const changed = [...rates, ...costs].filter(({ isCrossed, isAbove }) => isCrossed !== isAbove);
  for (const { id, isAbove, data } of changed) {
    await client.query(noteSql, [accountId, id, isAbove]);
    const status = isAbove ? "crossed" : "back";
    await enqueueEvent(client, { accountId, type: "alert.rule", data: { ...data, status } });
  }
  return changed.length;
}

async function readRates(client: pg.ClientBase, values: unknown[]) {
  const { rows } = await client.query<CountedRule>(countSql, values);
  return rows.map((rule) => ({
    ...rule,
    isAbove: isAbove(rule),
    data: rule.aboveMs === null ? describeRate(rule) : describeDuration(rule, rule.aboveMs),
  }));
}

async function readCosts(client: pg.ClientBase, values: [string, string[], string]) {
  const { rows } = await client.query<CostRule>(costSql, values);
  return rows.map((rule) => ({ ...rule, data: describeCost(rule, values[2]) }));
}

/** The UTC day or month stands beside its sum. */
function describeCost({ agentId, costPer, aboveCost, cost }: CostRule, today: string) {
  const period = costPer === "day" ? today : today.slice(0, 7);
  return { agent_id: agentId, name: `Cost above $${aboveCost} a ${costPer}`, error: `$${cost} in ${period} (UTC)` };
}

function isAbove({ traces, failures, ofTraces, abovePercent, aboveMs, p95Ms }: CountedRule): boolean {
  if (aboveMs !== null) return p95Ms !== null && p95Ms > aboveMs;
  return traces >= ofTraces && failures * 100 > abovePercent * traces;
}

function describeRate(rule: CountedRule) {
  const { agentId, abovePercent, ofTraces, withinSeconds, traces, failures } = rule;
  const percent = traces === 0 ? 0 : Math.round((failures / traces) * 1_000) / 10;
  return {
    agent_id: agentId,
    name: `Failure rate above ${abovePercent} % of at least ${ofTraces} traces within ${durationText(withinSeconds)}`,
    error: `${failures} of ${traces} ended traces failed (${percent} %)`,
  };
}

function describeDuration({ agentId, withinSeconds, p95Ms }: CountedRule, aboveMs: number) {
  return {
    agent_id: agentId,
    name: `95th percentile of durations above ${aboveMs / 1_000} s within ${durationText(withinSeconds)}`,
    error: p95Ms === null ? "No trace ended" : `The 95th percentile is ${Math.round(p95Ms) / 1_000} s`,
  };
}

/** Such as `15m`, as the command line takes it. */
function durationText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
