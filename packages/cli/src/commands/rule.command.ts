import { costPeriods, createRule, deleteRule, type ListedRule, listRules } from "@waymark/alerts";
import { percent, seconds, wholeNumber } from "../arguments/values.js";
import type { Program } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
A rule about failures is crossed when more than the share of at least so many of the agent's traces failed, of those that ended within the
time. A rule about cost is crossed when the calls of a UTC day or month cost more, of the agent or of the whole account; a new period begins
at nothing. The worker tells the account's channels once when a rule is crossed and once when it is back. An account has at most 50 rules.

Examples:
  $ waymark rule create --account me@example.com --agent billing-agent --above 20% --of 20 --within 15m
  $ waymark rule create --account me@example.com --cost-per day --above 5.00`;

const list = listing(
  ["id", "agent_id", "above", "of", "within", "state", "changed_at"],
  "The account has no rules. 'waymark rule create' makes one.",
);

function toRow({ above_percent, within_seconds, cost_per, above_cost, ...rule }: ListedRule) {
  const above = cost_per === null ? `${above_percent}%` : `$${above_cost} a ${cost_per}`;
  return { ...rule, above, within: within_seconds === null ? null : `${within_seconds}s` };
}

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
    .option("--agent <agent>", "the agent's id; a rule about cost without one is about all agents")
    .option("--cost-per <period>", "a rule about the cost of a UTC day or month", { choices: costPeriods })
    .required(
      "--above <limit>",
      "more than this share of the traces failed, such as 20%; of a cost, dollars such as 5.00",
    )
    .option("--of <n>", "of at least so many ended traces, 1 to 10000", { parse: wholeNumber(1, 10_000) })
    .option("--within <time>", "that ended within this time, 1m to 24h", { parse: seconds })
    .check(({ costPer, agent, of, within }) => {
      const isComplete = costPer ? (of ?? within) === undefined : agent && of !== undefined && within !== undefined;
      return !isComplete && "Name --agent, --above, --of and --within, or --cost-per and --above.";
    })
    .check(({ costPer, above }) => !costPer && shareProblem(above))
    .query(({ pool, accountId }, { agent = null, costPer, above, of, within }) => {
      const limits = costPer
        ? { costPer, aboveCost: above }
        : { abovePercent: percent(above), ofTraces: of, withinSeconds: within };
      return createRule(pool, accountId, { agentId: agent, ...limits });
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
