import { costPeriods, createRule, deleteRule, type ListedRule, listRules } from "@waymark/alerts";
import { percent, seconds, wholeNumber } from "../arguments/values.js";
import type { Program } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
A rule about failures is crossed when more than the share of at least so many of the agent's traces failed, of those that ended within the
time. A rule about cost is crossed when the calls of a UTC day or month cost more, of the agent or of the whole account; a new period begins
at nothing. A rule about durations is crossed when the 95th percentile of the traces that ended within the time is longer. The worker tells the account's channels once when a rule is crossed and once when it is back. An account has at most 50 rules.

Examples:
  $ waymark rule create --account me@example.com --agent billing-agent --above 20% --of 20 --within 15m
  $ waymark rule create --account me@example.com --cost-per day --above 5.00
  $ waymark rule create --account me@example.com --agent billing-agent --p95-above 30s --within 15m`;

const list = listing(
  ["id", "agent_id", "above", "of", "within", "state", "changed_at"],
  "The account has no rules. 'waymark rule create' makes one.",
);

function toRow({ above_percent, within_seconds, cost_per, above_cost, p95_above_ms, ...rule }: ListedRule) {
  const rate = p95_above_ms === null ? `${above_percent}%` : `p95 ${p95_above_ms / 1_000}s`;
  const above = cost_per === null ? rate : `$${above_cost} a ${cost_per}`;
  return { ...rule, above, within: within_seconds === null ? null : `${within_seconds}s` };
}

const complete = "Name --agent, --above, --of and --within, or --cost-per and --above, or --p95-above and --within.";

function shareProblem(text: string): string | undefined {
  try {
    percent(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** `waymark rule create|list|delete`. */
export function addRuleCommands(program: Program): void {
  const rule = program.group("rule", "be told when an agent fails too often or costs too much, and when it is back");
  rule("create", "create a rule about an agent's failure rate, or about cost", createHelp)
    .required("--account <account>", "the account's id or address")
    .option("--agent <agent>", "the agent's id; other rules than about failures may be about all agents")
    .option("--cost-per <period>", "a rule about the cost of a UTC day or month", { choices: costPeriods })
    .option("--p95-above <time>", "a rule about durations: 95 % of the traces should take at most this", {
      parse: seconds,
    })
    .option(
      "--above <limit>",
      "more than this share of the traces failed, such as 20%; of a cost, dollars such as 5.00",
    )
    .option("--of <n>", "of at least so many ended traces, 1 to 10000", { parse: wholeNumber(1, 10_000) })
    .option("--within <time>", "that ended within this time, 1m to 24h", { parse: seconds })
    .check(({ costPer, p95Above, agent, above, of, within }) => {
      const given = [costPer, p95Above, agent, above, of, within].map((value) => value !== undefined);
      const [isCost, isDuration, hasAgent, hasAbove, hasOf, hasWithin] = given;
      if (isCost) return (isDuration || hasOf || hasWithin || !hasAbove) && complete;
      if (isDuration) return (hasAbove || hasOf || !hasWithin) && complete;
      return hasAgent && hasAbove && hasOf && hasWithin ? shareProblem(above ?? "") : complete;
    })
    .query(({ pool, accountId }, { agent = null, costPer, p95Above, above = "", of, within }) => {
      const p95AboveMs = p95Above === undefined ? undefined : p95Above * 1_000;
      const isRate = costPer === undefined && p95AboveMs === undefined;
      const limits = isRate
        ? { abovePercent: percent(above), ofTraces: of }
        : { costPer, aboveCost: above, p95AboveMs };
      return createRule(pool, accountId, { agentId: agent, withinSeconds: within, ...limits });
    }, formatFields);
  rule("list", "list an account's rules with their state, oldest first")
    .required("--account <account>", "the account's id or address")
    .query(
      ({ pool, accountId }) => listRules(pool, accountId),
      (rules) => list(rules.map(toRow)),
    );
  rule("delete", "delete a rule")
    .argument("<rule-id>", "the rule's id, from 'waymark rule list'")
    .option("--account <account>", "only if it is a rule of this account")
    .query(({ pool, accountId }, ruleId) => deleteRule(pool, { ruleId, accountId }), formatFields);
}
