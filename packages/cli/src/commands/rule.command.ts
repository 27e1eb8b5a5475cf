import { createRule, deleteRule, type ListedRule, listRules } from "@waymark/alerts";
import type { Command } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { percent, seconds, wholeNumber } from "../arguments/values.js";
import type { Act } from "../context/command-context.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

const createHelp = `
The rule is crossed when more than the share of at least so many of the agent's traces failed, of those that ended within the time. The
worker tells the account's channels once when it is crossed and once when it is back. An account has at most 50 rules.

Example:
  $ waymark rule create --account me@example.com --agent billing-agent --above 20% --of 20 --within 15m`;

interface CreateOptions {
  account: string;
  agent: string;
  above: number;
  of: number;
  within: number;
}

const columns = ["id", "agent_id", "above", "of", "within", "state", "changed_at"] as const;

function toRow({ above_percent, within_seconds, ...rule }: ListedRule) {
  return { ...rule, above: `${above_percent}%`, within: `${within_seconds}s` };
}

/** `waymark rule create|list|delete`. */
export function addRuleCommands(program: Command, act: Act): void {
  const rule = program
    .command("rule")
    .description("be told when an agent's failure rate is too high, and when it is back");

  rule
    .command("create")
    .description("create a rule about an agent's failure rate")
    .requiredOption("--account <account>", "the account's id or address")
    .requiredOption("--agent <agent>", "the agent's id")
    .requiredOption("--above <share>", "more than this share of the traces failed, such as 20%", percent)
    .requiredOption("--of <n>", "of at least so many ended traces, 1 to 10000", wholeNumber(1, 10_000))
    .requiredOption("--within <time>", "that ended within this time, 1m to 24h", seconds)
    .addHelpText("after", createHelp)
    .action(
      act(async (context, { account, agent, above, of, within }: CreateOptions) => {
        const input = { agentId: agent, abovePercent: above, ofTraces: of, withinSeconds: within };
        const value = await onAccount(context, account, (pool, id) => createRule(pool, id, input));
        return { value, text: formatFields({ ...value }) };
      }),
    );

  rule
    .command("list")
    .description("list an account's rules with their state, oldest first")
    .requiredOption("--account <account>", "the account's id or address")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onAccount(context, account, (pool, id) => listRules(pool, id));
        const text = formatTable(columns, value.map(toRow));
        return { value, text: value.length > 0 ? text : "The account has no rules. 'waymark rule create' makes one." };
      }),
    );

  rule
    .command("delete")
    .description("delete a rule")
    .argument("<rule-id>", "the rule's id, from 'waymark rule list'")
    .option("--account <account>", "only if it is a rule of this account")
    .action(
      act(async (context, ruleId: string, { account }: { account?: string }) => {
        const value = await onAccount(context, account, (pool, accountId) => deleteRule(pool, { ruleId, accountId }));
        return { value, text: formatFields({ ...value }) };
      }),
    );
}
