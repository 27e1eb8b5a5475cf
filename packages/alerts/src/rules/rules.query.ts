import { createUuidV7, isUuid, type TextTimes, textTimes, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { requirePlan } from "../alert-rule.js";
import { requireRoom } from "../channels/alert-settings.query.js";

const uuid = createUuidV7();

const maxRulesPerAccount = 50;
const maxTraces = 10_000;
const minWithinSeconds = 60;
const maxWithinSeconds = 86_400;
/** A percentile sorts what ended within the time. */
const maxPercentileSeconds = 3_600;
const maxDurationMs = 86_400_000;

/** The UTC periods of rules about cost. */
export const costPeriods = ["day", "month"] as const;

type CostPeriod = (typeof costPeriods)[number];

/** A rule is about cost with a period, about durations with `p95AboveMs` and a time, else about failures. */
export interface RuleInput {
  /** Null for the whole account, unless the rule is about failures. */
  agentId: string | null;
  /** 0 to under 100. */
  abovePercent?: number | undefined;
  ofTraces?: number | undefined;
  withinSeconds?: number | undefined;
  costPer?: CostPeriod | undefined;
  /** Dollars as a decimal number. */
  aboveCost?: string | undefined;
  p95AboveMs?: number | undefined;
}

interface RuleRow {
  id: string;
  agent_id: string | null;
  above_percent: number | null;
  of: number | null;
  within_seconds: number | null;
  cost_per: CostPeriod | null;
  above_cost: string | null;
  p95_above_ms: number | null;
  /** As the account was last told. */
  state: "quiet" | "crossed";
  changed_at: Date | null;
  created_at: Date;
}

export type ListedRule = TextTimes<RuleRow>;

const columns = `id, agent_id, above_percent::float8, of_traces AS "of", within_seconds,
    cost_per, trim_scale(above_cost)::text AS above_cost, above_ms::float8 AS p95_above_ms,
    CASE WHEN is_crossed THEN 'crossed' ELSE 'quiet' END AS state, changed_at, created_at`;

/** @throws AppError 400 with a message per field */
function checkRule(rule: RuleInput): void {
  const { agentId, costPer, p95AboveMs } = rule;
  const isRate = costPer === undefined && p95AboveMs === undefined;
  const fields = isRate ? findRateProblems(rule) : costPer ? findCostProblems(rule) : findDurationProblems(rule);
  const isMissing = isRate && agentId === null;
  const agentProblem = agentId === "" || isMissing ? "Must not be empty" : textProblem(agentId ?? "");
  if (agentProblem !== undefined || (agentId ?? "").length > 255)
    fields["agent"] = agentProblem ?? "Must be at most 255 characters";
  if (Object.keys(fields).length > 0) throw validationError(fields);
}

function findRateProblems({ abovePercent = -1, ofTraces = 0, withinSeconds = 0 }: RuleInput) {
  const fields: Record<string, string> = {};
  if (!(abovePercent >= 0 && abovePercent < 100)) fields["above"] = "Must be from 0% to under 100%";
  if (!(Number.isInteger(ofTraces) && ofTraces >= 1 && ofTraces <= maxTraces))
    fields["of"] = `Must be a whole number from 1 to ${maxTraces}`;
  if (!(withinSeconds >= minWithinSeconds && withinSeconds <= maxWithinSeconds))
    fields["within"] = "Must be from 1m to 24h";
  return fields;
}

function findCostProblems({ aboveCost = "" }: RuleInput): Record<string, string> {
  return /^\d{1,9}(\.\d{1,6})?$/.test(aboveCost) ? {} : { above: "Must be dollars, such as 5.00" };
}

function findDurationProblems({ p95AboveMs = 0, withinSeconds = 0 }: RuleInput): Record<string, string> {
  const fields: Record<string, string> = {};
  if (!(Number.isInteger(p95AboveMs) && p95AboveMs >= 1 && p95AboveMs <= maxDurationMs))
    fields["above"] = "Must be a time of at most 24h";
  if (!(withinSeconds >= minWithinSeconds && withinSeconds <= maxPercentileSeconds))
    fields["within"] = "Must be from 1m to 1h";
  return fields;
}

// The row's lock makes the number of rules exact.
const lockAccountSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";
const insertSql = `
  INSERT INTO alert_rule (account_id, id, agent_id, above_percent, of_traces, within_seconds, cost_per, above_cost, above_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING ${columns}`;

/** In the order of the columns. */
function limitsOf({ abovePercent, ofTraces, withinSeconds, costPer, aboveCost, p95AboveMs }: RuleInput) {
  if (costPer !== undefined) return [null, null, null, costPer, aboveCost, null];
  if (p95AboveMs !== undefined) return [null, null, withinSeconds, null, null, p95AboveMs];
  return [abovePercent, ofTraces, withinSeconds, null, null, null];
}

/** @throws AppError 400 for a wrong field or an account without alerts, 409 for an account with 50 rules */
export async function createRule(pool: pg.Pool, accountId: string, input: RuleInput): Promise<ListedRule> {
  checkRule(input);
  const values = [accountId, uuid(), input.agentId, ...limitsOf(input)];
  return withTransaction(pool, async (client) => {
    await client.query(lockAccountSql, [accountId]);
    await requirePlan(client, accountId, "Rules");
    const rulesSql = "SELECT FROM alert_rule WHERE account_id = $1";
    await requireRoom(client, rulesSql, [accountId], { limit: maxRulesPerAccount, what: "rules" });
    const { rows } = await client.query<RuleRow>(insertSql, values);
    return rows.map(textTimes)[0] as ListedRule;
  });
}

export async function listRules(pool: pg.Pool, accountId: string): Promise<ListedRule[]> {
  const sql = `SELECT ${columns} FROM alert_rule WHERE account_id = $1 ORDER BY id`;
  const { rows } = await pool.query<RuleRow>(sql, [accountId]);
  return rows.map(textTimes);
}

/** An operator may name no account. @throws AppError 404 */
export async function deleteRule(
  pool: pg.Pool,
  { ruleId, accountId }: { ruleId: string; accountId?: string | undefined },
): Promise<{ id: string; agent_id: string | null }> {
  const sql = "DELETE FROM alert_rule WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2) RETURNING id, agent_id";
  const values = [ruleId, accountId ?? null];
  const { rows } = isUuid(ruleId)
    ? await pool.query<{ id: string; agent_id: string | null }>(sql, values)
    : { rows: [] };
  if (!rows[0]) throw new AppError("rule_not_found");
  return rows[0];
}
