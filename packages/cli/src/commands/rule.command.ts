import { createRule, deleteRule, type ListedRule, listRules } from "@waymark/alerts";
import { percent, seconds, wholeNumber } from "../arguments/values.js";
import type { Program } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
The rule is crossed when more than the share of at least so many of the agent's traces failed, of those that ended within the time. The
worker tells the account's channels once when it is crossed and once when it is back. An account has at most 50 rules.

Example:
  $ waymark rule create --account me@example.com --agent billing-agent --above 20% --of 20 --within 15m`;

const list = listing(
  ["id", "agent_id", "above", "of", "within", "state", "changed_at"],
  "The account has no rules. 'waymark rule create' makes one.",
);

function toRow({ above_percent, within_seconds, ...rule }: ListedRule) {
  return { ...rule, above: `${above_percent}%`, within: `${within_seconds}s` };
}

/** `waymark rule create|list|delete`. */
export function addRuleCommands(program: Program): void {
  const rule = program.group("rule", "be told when an agent's failure rate is too high, and when it is back");
  rule("create", "create a rule about an agent's failure rate", createHelp)
    .required("--account <account>", "the account's id or address")
    .required("--agent <agent>", "the agent's id")
    .required("--above <share>", "more than this share of the traces failed, such as 20%", { parse: percent })
    .required("--of <n>", "of at least so many ended traces, 1 to 10000", { parse: wholeNumber(1, 10_000) })
    .required("--within <time>", "that ended within this time, 1m to 24h", { parse: seconds })
    .query(({ pool, accountId }, { agent, above, of, within }) => {
      const input = { agentId: agent, abovePercent: above, ofTraces: of, withinSeconds: within };
      return createRule(pool, accountId, input);
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
