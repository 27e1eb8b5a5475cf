import { costPeriods, createRule, deleteRule, type ListedRule, listRules } from "@waymark/alerts";
import { percent, seconds, wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
A rule is about an agent, a user, an environment or, but for failures, the whole account. One about failures is crossed when more than the
share of at least so many traces failed, of those that ended within the time; one about durations when their 95th percentile is longer; one
about cost when the calls of a UTC day or month cost more, or those of one trace of the last hour; one about tokens when the calls of the
time had more a minute. The worker tells the account's channels once when a rule is crossed and once when it is back. An account has at most
50 rules.

Examples:
  $ waymark rule create --account me@example.com --agent billing-agent --above 20% --of 20 --within 15m
  $ waymark rule create --account me@example.com --cost-per day --above 5.00
  $ waymark rule create --account me@example.com --user ann --trace-cost-above 1
  $ waymark rule create --account me@example.com --environment production --p95-above 30s --within 15m
  $ waymark rule create --account me@example.com --tokens-above 100000 --within 5m`;

const list = listing(
  ["id", "about", "above", "of", "within", "state", "changed_at"],
  "The account has no rules. 'waymark rule create' makes one.",
);

function toRow({ agent_id, user_id, environment, within_seconds, ...rule }: ListedRule) {
  const of = agent_id ?? (user_id === null ? environment && `environment ${environment}` : `user ${user_id}`);
  return { ...rule, about: of, above: aboveOf(rule), within: within_seconds === null ? null : `${within_seconds}s` };
}

function aboveOf({ above_percent, cost_per, above_cost, p95_above_ms, tokens_above }: Partial<ListedRule>): string {
  if (cost_per) return `$${above_cost} a ${cost_per}`;
  if (tokens_above) return `${tokens_above} tokens a minute`;
  return p95_above_ms ? `p95 ${p95_above_ms / 1_000}s` : `${above_percent}%`;
}

/** What each kind of rule needs beside the option that tells it. */
const needs = {
  costPer: ["above"],
  traceCostAbove: [],
  p95Above: ["within"],
  tokensAbove: ["within"],
  failures: ["above", "of", "within"],
} as const;
const kinds = ["costPer", "traceCostAbove", "p95Above", "tokensAbove"] as const;

const complete =
  "Name --above, --of and --within with an --agent, --user or --environment, or one of --cost-per with --above, --trace-cost-above, --p95-above with --within, and --tokens-above with --within.";

function shareProblem(text: string): string | undefined {
  try {
    percent(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export function declareCommand(command: TopCommand): void {
  const rule = command.group();
  rule("create", "create a rule about failures, cost, durations or tokens", createHelp)
    .required("--account <account>", "the account's id or address")
    .option("--agent <agent>", "about an agent, by its id")
    .option("--user <user>", "about a user, by the id in user_id")
    .option("--environment <environment>", "about an environment")
    .option("--cost-per <period>", "a rule about the cost of a UTC day or month", { choices: costPeriods })
    .option("--trace-cost-above <dollars>", "a rule about the cost of one trace, such as 1.50")
    .option("--p95-above <time>", "a rule about durations: 95 % of the traces should take at most this", {
      parse: seconds,
    })
    .option("--tokens-above <n>", "a rule about tokens a minute", { parse: wholeNumber(1, 1_000_000_000) })
    .option(
      "--above <limit>",
      "more than this share of the traces failed, such as 20%; of a cost, dollars such as 5.00",
    )
    .option("--of <n>", "of at least so many ended traces, 1 to 10000", { parse: wholeNumber(1, 10_000) })
    .option("--within <time>", "that ended within this time, 1m to 24h", { parse: seconds })
    .check((options) => {
      const [kind = "failures", other] = kinds.filter((each) => options[each] !== undefined);
      const given = (["above", "of", "within"] as const).filter((each) => options[each] !== undefined);
      const { agent, user, environment } = options;
      const isWhole = kind !== "failures" || (agent ?? user ?? environment) !== undefined;
      if (other || !isWhole || given.join() !== needs[kind].join()) return complete;
      return kind === "failures" && shareProblem(options.above ?? "");
    })
    .query(({ pool, accountId }, options) => {
      const { agent = null, user, environment, traceCostAbove, costPer, p95Above, tokensAbove, above = "" } = options;
      const isRate = kinds.every((kind) => options[kind] === undefined);
      const ofCost = { costPer: costPer ?? ("trace" as const), aboveCost: traceCostAbove ?? above };
      return createRule(pool, accountId, {
        agentId: agent,
        userId: user,
        environment,
        withinSeconds: options.within,
        tokensAbove,
        ...(p95Above !== undefined && { p95AboveMs: p95Above * 1_000 }),
        ...((costPer ?? traceCostAbove) !== undefined && ofCost),
        ...(isRate && { abovePercent: percent(above), ofTraces: options.of }),
      });
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
