import { readUsage, type Usage } from "@waymark/accounts";
import { isPlanId, planOf } from "@waymark/plan";
import { readUsageTables, rebuildUsage, type UsageTables, usageIntervals } from "@waymark/traces";
import { type Command, Option } from "commander";
import { onAccount, resolveAccount } from "../arguments/resolve-owner.js";
import { parseTime, type TimeArgument, timeForms } from "../arguments/values.js";
import {
  type Act,
  type CommandContext,
  type CommandDatabase,
  type Outcome,
  onDatabase,
} from "../context/command-context.js";
import { UsageError } from "../context/command-error.js";
import { formatCount, formatFields, formatTable, printable } from "../output/terminal-text.js";

/** There may be many differences, and the first ones are enough. */
const maxListed = 100;

/** `waymark usage`, `waymark usage models`, `waymark usage rebuild`. */
export function addUsageCommand(program: Command, act: Act): void {
  const usage = program
    .command("usage")
    .description("show an account's use of its plan in this UTC month")
    .option("--account <account>", "the account's id or address")
    .addHelpText("after", "\nExample:\n  $ waymark usage --account me@example.com")
    .action(
      act(async (context, { account }: { account?: string }) => {
        if (account === undefined) throw new UsageError("Give --account.");
        const value = await onAccount(context, account, (pool, id) => readUsage(pool, id, context.now()));
        return { value, text: describe(value) };
      }),
    );
  addModels(usage, act);
  usage
    .command("rebuild")
    .description("count model calls again, report differences to the daily sums, and mend them")
    .option("--check", "only report")
    .addHelpText("after", rebuildHelp)
    .action(
      act((context, options: { check?: true }, command: Command) => {
        const { account } = command.optsWithGlobals<{ account?: string }>();
        return onDatabase(context, (database) =>
          rebuild(context, database, { account, isCheck: options.check === true }),
        );
      }),
    );
}

const defaultDays = 30;

interface ModelsOptions {
  agent?: string;
  from?: TimeArgument;
  to?: TimeArgument;
  interval: (typeof usageIntervals)[number];
}

const modelsHelp = `
Days are the UTC days that spans started on; the day of --to counts unless it is midnight. A week begins on Monday, and a row of
weeks or months has its first day. Costs are dollars.

Examples:
  $ waymark usage models --account me@example.com
  $ waymark usage models --account me@example.com --from 2026-05-01 --to 2026-06-01 --interval week`;

function addModels(usage: Command, act: Act): void {
  usage
    .command("models")
    .description("show tokens and cost of model calls: by model, by agent and over time")
    .option("--agent <agent>", "only this agent's calls")
    .option("--from <time>", `the first day: ${timeForms}; ${defaultDays}d by default`, parseTime)
    .option("--to <time>", "the last day", parseTime)
    .addOption(
      new Option("--interval <length>", "the length of a row over time").choices(usageIntervals).default("day"),
    )
    .addHelpText("after", modelsHelp)
    .action(
      act(async (context, options: ModelsOptions, command: Command) => {
        const { account } = command.optsWithGlobals<{ account?: string }>();
        if (account === undefined) throw new UsageError("Give --account.");
        const days = daysOf(options, context.now());
        const tables = await onAccount(context, account, (pool, accountId) =>
          readUsageTables(pool, { accountId, ...days, agentId: options.agent, interval: options.interval }),
        );
        const value = { from: days.from, to: days.to, interval: options.interval, ...tables };
        return { value, text: drawUsage(tables) };
      }),
    );
}

/** Whole days, the last one excluded. */
function daysOf({ from, to }: ModelsOptions, now: Date): { from: string; to: string } {
  const dayMs = 86_400_000;
  const end = Date.parse(to?.(now) ?? now.toISOString());
  const start = from ? Date.parse(from(now)) : end - defaultDays * dayMs;
  if (start >= end) throw new UsageError("--from must be before --to.");
  const dayAt = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);
  return { from: dayAt(Math.floor(start / dayMs)), to: dayAt(Math.ceil(end / dayMs)) };
}

function drawUsage({ total, models, agents, series }: UsageTables): string {
  if (total.calls === 0) return "There are no model calls.";
  const sums = ["calls", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"] as const;
  return [
    formatTable(["model", "provider", ...sums], models),
    formatTable(["agent_id", ...sums], agents),
    formatTable(["day", ...sums], series),
    formatTable(sums, [total]),
  ].join("\n\n");
}

const rebuildHelp = `
The command compares the last 29 days; of earlier ones retention may have removed calls. It rebuilds every account, or that of
--account. With --check it changes nothing, and the exit code is 1 when something differs.

Examples:
  $ waymark usage rebuild --check
  $ waymark usage rebuild --account me@example.com`;

async function rebuild(
  context: CommandContext,
  { pool, prisma }: CommandDatabase,
  { account, isCheck }: { account: string | undefined; isCheck: boolean },
): Promise<Outcome> {
  const accounts = account === undefined ? await prisma.account.findMany() : [await resolveAccount(prisma, account)];
  let differences = 0;
  const lines: string[] = [];
  for (const { id } of accounts) {
    const { calls, sums } = await rebuildUsage(pool, id, { isCheck, now: context.now() });
    differences += calls + sums.length;
    if (calls > 0) lines.push(`${id}: ${calls} calls counted wrongly`);
    for (const { day, model, stored_calls, counted_calls } of sums)
      lines.push(`${id}: ${day} ${printable(model)}: stored ${stored_calls ?? 0} calls, counted ${counted_calls ?? 0}`);
  }
  const verdict = differences === 0 ? "no difference" : `${differences} differences, ${isCheck ? "left" : "mended"}`;
  const value = { accounts: accounts.length, differences, mended: !isCheck };
  const text = [...lines.slice(0, maxListed), `${accounts.length} accounts compared: ${verdict}.`].join("\n");
  return { value, text, exitCode: isCheck && differences > 0 ? 1 : 0 };
}

function describe(usage: Usage): string {
  const plan = isPlanId(usage.plan) ? planOf(usage.plan).name : usage.plan;
  return formatFields({
    account: `${usage.email} (${plan})`,
    month: `${usage.month}, UTC; starts anew at ${usage.resets_at}`,
    traces: `${formatCount(usage.traces.current)} of ${formatCount(usage.traces.limit)}`,
    bytes: `${formatCount(usage.bytes.current)} of ${formatCount(usage.bytes.limit)}`,
    agents: `${formatCount(usage.agents.current)} of ${usage.agents.limit === null ? "any number" : formatCount(usage.agents.limit)}`,
  });
}
