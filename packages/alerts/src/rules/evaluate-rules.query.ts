import { withTransaction } from "@waymark/database";
import { statusTimeSql } from "@waymark/traces";
import type pg from "pg";
import { plansWithAlerts } from "../alert-rule.js";
import { enqueueEvent } from "../channels/enqueue-event.query.js";
import { eachAccount } from "../turns.js";

/** Traces that began earlier do not count when they end. */
const maxTraceSeconds = 86_400;

// Accounts with alerts that have a rule.
const findAccountsSql = `
  SELECT DISTINCT r.account_id FROM alert_rule r JOIN account a ON a.id = r.account_id AND a.plan = ANY ($1) ORDER BY 1`;

// Another worker evaluates locked ones.
const lockRulesSql = "SELECT id FROM alert_rule WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED";

/**
 * The rules with their agents' ended traces, counted by the time of the end's receipt. Reads the account's traces of the
 * longest time and a day before it along `trace_pkey`, once for all rules.
 */
const countSql = `
  WITH rule AS MATERIALIZED (
    SELECT * FROM alert_rule WHERE account_id = $1 AND id = ANY ($2)
  ), ended AS MATERIALIZED (
    SELECT agent_id, status, ${statusTimeSql} AS since FROM trace
    WHERE account_id = $1 AND status <> 'running' AND agent_id IN (SELECT agent_id FROM rule)
      AND id >= uuid_floor(now() - make_interval(secs => $3 + (SELECT max(within_seconds) FROM rule)))
      AND ${statusTimeSql} > now() - make_interval(secs => (SELECT max(within_seconds) FROM rule))
  )
  SELECT rule.id, rule.agent_id AS "agentId", rule.above_percent::float8 AS "abovePercent", rule.of_traces AS "ofTraces",
    rule.within_seconds AS "withinSeconds", rule.is_crossed AS "isCrossed", count(ended.status)::int AS traces,
    (count(*) FILTER (WHERE ended.status IN ('error', 'timeout')))::int AS failures
  FROM rule LEFT JOIN ended ON ended.agent_id = rule.agent_id
    AND ended.since > now() - make_interval(secs => rule.within_seconds)
  GROUP BY rule.id, rule.agent_id, rule.above_percent, rule.of_traces, rule.within_seconds, rule.is_crossed`;

const noteSql = "UPDATE alert_rule SET is_crossed = $3, changed_at = now() WHERE account_id = $1 AND id = $2";

interface CountedRule {
  id: string;
  agentId: string;
  abovePercent: number;
  ofTraces: number;
  withinSeconds: number;
  isCrossed: boolean;
  traces: number;
  failures: number;
}

/**
 * Tells accounts once that a rule is crossed, and once that it is so no more: the state and its event are one transaction.
 * @returns how many rules changed
 */
export async function evaluateRules(pool: pg.Pool, { isStopping }: { isStopping(): boolean }): Promise<number> {
  const { rows } = await pool.query<{ account_id: string }>(findAccountsSql, [plansWithAlerts]);
  return eachAccount(rows, async ({ account_id }) =>
    isStopping() ? 0 : withTransaction(pool, (client) => evaluateAccount(client, account_id)),
  );
}

async function evaluateAccount(client: pg.ClientBase, accountId: string): Promise<number> {
  const { rows: locked } = await client.query<{ id: string }>(lockRulesSql, [accountId]);
  if (locked.length === 0) return 0;
  const values = [accountId, locked.map(({ id }) => id), maxTraceSeconds];
  const { rows } = await client.query<CountedRule>(countSql, values);
  const changed = rows.filter((rule) => rule.isCrossed !== isAbove(rule));
  for (const rule of changed) {
    await client.query(noteSql, [accountId, rule.id, !rule.isCrossed]);
    await enqueueEvent(client, { accountId, type: "alert.rule", data: describe(rule) });
  }
  return changed.length;
}

function isAbove({ traces, failures, ofTraces, abovePercent }: CountedRule): boolean {
  return traces >= ofTraces && failures * 100 > abovePercent * traces;
}

function describe(rule: CountedRule) {
  const { agentId, abovePercent, ofTraces, withinSeconds, traces, failures } = rule;
  const percent = traces === 0 ? 0 : Math.round((failures / traces) * 1_000) / 10;
  return {
    agent_id: agentId,
    name: `Failure rate above ${abovePercent} % of at least ${ofTraces} traces within ${durationText(withinSeconds)}`,
    status: isAbove(rule) ? "crossed" : "back",
    error: `${failures} of ${traces} ended traces failed (${percent} %)`,
  };
}

/** Such as `15m`, as the command line takes it. */
function durationText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
