import { readUsage, type Usage } from "@waymark/accounts";
import { isPlanId, planOf } from "@waymark/plan";
import { readUsageTables, rebuildUsage, type UsageTables, usageIntervals } from "@waymark/traces";
import { resolveAccount } from "../arguments/resolve-owner.js";
import { parseTime, type TimeArgument, timeForms } from "../arguments/values.js";
import { onOwner, type Program } from "../context/command-builder.js";
import { type CommandContext, type CommandDatabase, type Outcome, onDatabase } from "../context/command-context.js";
import { formatCount, formatFields, formatTable, printable } from "../output/terminal-text.js";

/** There may be many differences, and the first ones are enough. */
const maxListed = 100;

const defaultDays = 30;

const usageHelp = "\nExample:\n  $ waymark usage --account me@example.com";

const modelsHelp = `
Days are the UTC days that spans started on; the day of --to counts unless it is midnight. A week begins on Monday, and a row of
weeks or months has its first day. Costs are dollars.

Examples:
  $ waymark usage models --account me@example.com
  $ waymark usage models --account me@example.com --from 2026-05-01 --to 2026-06-01 --interval week`;

const rebuildHelp = `
The command compares the last 29 days; of earlier ones retention may have removed calls. It rebuilds every account, or that of
--account. With --check it changes nothing, and the exit code is 1 when something differs.

Examples:
  $ waymark usage rebuild --check
  $ waymark usage rebuild --account me@example.com`;

export function addUsageCommand(program: Program): void {
  const usage = program
    .command("usage", "show an account's use of its plan in this UTC month", usageHelp)
    .option("--account <account>", "the account's id or address");
  const needsAccount = ({ account }: { account?: string }) => account === undefined && "Give --account.";
  usage.check(needsAccount).query(({ pool, accountId = "", now }) => readUsage(pool, accountId, now), describe);
  usage
    .command("models", "show tokens and cost of model calls: by model, by agent and over time", modelsHelp)
    .option("--agent <agent>", "only this agent's calls")
    .option("--from <time>", `the first day: ${timeForms}; ${defaultDays}d by default`, { parse: parseTime })
    .option("--to <time>", "the last day", { parse: parseTime })
    .option("--interval <length>", "the length of a row over time", { choices: usageIntervals, default: "day" })
    .check(needsAccount)
    .check((range, now) => daysOf(range, now).isNone && "--from must be before --to.")
    .run(async (context, options) => {
      const { agent: agentId, interval } = options;
      const { from, to } = daysOf(options, context.now());
      const tables = await onOwner(context, options, ({ pool, accountId = "" }) =>
        readUsageTables(pool, { accountId, from, to, agentId, interval }),
      );
      return { value: { from, to, interval, ...tables }, text: drawUsage(tables) };
    });
  usage
    .command("rebuild", "count model calls again, report differences to the daily sums, and mend them", rebuildHelp)
    .option("--check", "only report")
    .run((context, options) => onDatabase(context, (database) => rebuild(context, database, options)));
}

/** Whole days, the last one excluded. */
function daysOf({ from, to }: { from?: TimeArgument; to?: TimeArgument }, now: Date) {
  const dayMs = 86_400_000;
  const end = Date.parse(to?.(now) ?? now.toISOString());
  const start = from ? Date.parse(from(now)) : end - defaultDays * dayMs;
  const dayAt = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);
  return { isNone: start >= end, from: dayAt(Math.floor(start / dayMs)), to: dayAt(Math.ceil(end / dayMs)) };
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

async function rebuild(
  context: CommandContext,
  { pool, prisma }: CommandDatabase,
  { account, check: isCheck = false }: { account?: string; check?: boolean },
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
