import { createUuidV7, isUuid, type TextTimes, textTimes, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import { maxLabel } from "@waymark/traces";
import type pg from "pg";
import { requirePlan } from "../alert-rule.js";
import { requireRoom } from "../channels/alert-settings.query.js";

const uuid = createUuidV7();

const maxRulesPerAccount = 50;
const maxTraces = 10_000;
const minWithinSeconds = 60;
const maxWithinSeconds = 86_400;
/** A percentile sorts what ended within the time, and calls of so long are read. */
const maxPercentileSeconds = 3_600;
const maxDurationMs = 86_400_000;
const maxTokensPerMinute = 1_000_000_000;

/** What rules about cost are about: UTC periods, or one trace. */
export const costPeriods = ["day", "month"] as const;

type CostPer = (typeof costPeriods)[number] | "trace";

/** A rule is about cost with `costPer`, about durations or tokens with their limit and a time, else about failures. */
export interface RuleInput {
  /** At most one of the three. Without one the rule is about the whole account, and must not be about failures. */
  agentId: string | null;
  userId?: string | null | undefined;
  environment?: string | null | undefined;
  /** 0 to under 100. */
  abovePercent?: number | undefined;
  ofTraces?: number | undefined;
  withinSeconds?: number | undefined;
  costPer?: CostPer | undefined;
  /** Dollars as a decimal number. */
  aboveCost?: string | undefined;
  p95AboveMs?: number | undefined;
  tokensAbove?: number | undefined;
}

interface RuleRow {
  id: string;
  agent_id: string | null;
  user_id: string | null;
  environment: string | null;
  above_percent: number | null;
  of: number | null;
  within_seconds: number | null;
  cost_per: CostPer | null;
  above_cost: string | null;
  p95_above_ms: number | null;
  tokens_above: number | null;
  /** As the account was last told. */
  state: "quiet" | "crossed";
  changed_at: Date | null;
  created_at: Date;
}

export type ListedRule = TextTimes<RuleRow>;

const columns = `id, agent_id, user_id, environment, above_percent::float8, of_traces AS "of", within_seconds,
    cost_per, trim_scale(above_cost)::text AS above_cost, above_ms::float8 AS p95_above_ms,
    above_tokens::float8 AS tokens_above,
    CASE WHEN is_crossed THEN 'crossed' ELSE 'quiet' END AS state, changed_at, created_at`;

/** The longest that names something, by field. */
const subjects = { agent: 255, user: maxLabel, environment: maxLabel } as const;

/** @throws AppError 400 with a message per field */
function checkRule(rule: RuleInput): void {
  const { agentId, userId = null, environment = null, costPer, p95AboveMs, tokensAbove } = rule;
  const isRate = costPer === undefined && p95AboveMs === undefined && tokensAbove === undefined;
  const fields = isRate ? findRateProblems(rule) : costPer ? findCostProblems(rule) : findTimedProblems(rule);
  const given = Object.entries({ agent: agentId, user: userId, environment }).filter(([, name]) => name !== null);
  if (isRate && given.length === 0) fields["agent"] = "Must not be empty";
  for (const [field, name] of given) {
    const most = subjects[field as keyof typeof subjects];
    const problem = name === "" ? "Must not be empty" : textProblem(name ?? "");
    if (problem !== undefined) fields[field] = problem;
    else if ((name ?? "").length > most) fields[field] = `Must be at most ${most} characters`;
  }
  const [, second] = given;
  if (second) fields[second[0]] ??= "Must not be given with another one of agent, user and environment";
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

function findTimedProblems({ p95AboveMs, tokensAbove = 0, withinSeconds = 0 }: RuleInput): Record<string, string> {
  const fields: Record<string, string> = {};
  const isIn = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  if (p95AboveMs !== undefined && !isIn(p95AboveMs, maxDurationMs)) fields["above"] = "Must be a time of at most 24h";
  if (p95AboveMs === undefined && !isIn(tokensAbove, maxTokensPerMinute))
    fields["above"] = `Must be a whole number from 1 to ${maxTokensPerMinute}`;
  if (!(withinSeconds >= minWithinSeconds && withinSeconds <= maxPercentileSeconds))
    fields["within"] = "Must be from 1m to 1h";
  return fields;
}

// The row's lock makes the number of rules exact.
const lockAccountSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";
const insertSql = `
  INSERT INTO alert_rule (account_id, id, agent_id, user_id, environment,
    above_percent, of_traces, within_seconds, cost_per, above_cost, above_ms, above_tokens)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  RETURNING ${columns}`;

function limitsOf(rule: RuleInput) {
  const { abovePercent, ofTraces, withinSeconds, costPer, aboveCost, p95AboveMs, tokensAbove } = rule;
  if (costPer !== undefined) return [null, null, null, costPer, aboveCost, null, null];
  if (p95AboveMs !== undefined) return [null, null, withinSeconds, null, null, p95AboveMs, null];
  if (tokensAbove !== undefined) return [null, null, withinSeconds, null, null, null, tokensAbove];
  return [abovePercent, ofTraces, withinSeconds, null, null, null, null];
}

/** @throws AppError 400 for a wrong field or an account without alerts, 409 for an account with 50 rules */
export async function createRule(pool: pg.Pool, accountId: string, input: RuleInput): Promise<ListedRule> {
  checkRule(input);
  const { agentId, userId = null, environment = null } = input;
  const values = [accountId, uuid(), agentId, userId, environment, ...limitsOf(input)];
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
