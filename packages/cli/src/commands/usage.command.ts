import { readUsage, type Usage } from "@waymark/accounts";
import { isPlanId, planOf } from "@waymark/plan";
import { readUsageTables, rebuildUsage, type UsageTables, usageIntervals } from "@waymark/traces";
import { resolveAccount } from "../arguments/resolve-owner.js";
import { parseTime, type TimeArgument, timeForms } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { type CommandContext, type CommandDatabase, type Outcome, onDatabase } from "../context/command-context.js";
import { addServiceOptions, readFrom } from "../context/service.js";
import { formatCount, formatFields, formatTable, printable } from "../output/terminal-text.js";

/** There may be many differences, and the first ones are enough. */
const maxListed = 100;

const defaultDays = 30;

const usageHelp = `
Examples:
  $ waymark usage
  $ waymark usage --account me@example.com`;

const modelsHelp = `
Days are the UTC days that spans started on; the day of --to counts unless it is midnight. A week begins on Monday, and a row of
weeks or months has its first day. Costs are dollars.

Examples:
  $ waymark usage models --agent billing-agent
  $ waymark usage models --account me@example.com --from 2026-05-01 --to 2026-06-01 --interval week`;

const rebuildHelp = `
The command compares the last 29 days; of earlier ones retention may have removed calls. It rebuilds every account, or that of
--account. With --check it changes nothing, and the exit code is 1 when something differs.

Examples:
  $ waymark usage rebuild --check
  $ waymark usage rebuild --account me@example.com`;

export function declareCommand(command: TopCommand): void {
  const usage = addServiceOptions(command.help(usageHelp)).option(
    "--account <account>",
    "read the database, for the account of this id or address",
  );
  usage.run(async (context, options) => {
    const { body, value } = await readFrom<Shown>(context, options, {
      key: ({ call }) => call({ method: "GET", path: "/usage" }),
      owner: ({ pool, accountId = "", now }) => readUsage(pool, accountId, now),
    });
    return { value, text: describe(body) };
  });
  usage
    .command("models", "show tokens and cost of model calls: by model, by agent and over time", modelsHelp)
    .option("--agent <agent>", "only this agent's calls")
    .option("--from <time>", `the first day: ${timeForms}; ${defaultDays}d by default`, { parse: parseTime })
    .option("--to <time>", "the last day", { parse: parseTime })
    .option("--interval <length>", "the length of a row over time", { choices: usageIntervals, default: "day" })
    .check((range, now) => daysOf(range, now).isNone && "--from must be before --to.")
    .check(({ account, interval }) => account === undefined && interval !== "day" && "--interval needs --account.")
    .run(async (context, options) => {
      const { agent: agentId, interval } = options;
      const { from, to } = daysOf(options, context.now());
      // The API takes times, and its last day is that before a midnight.
      const query = { from: `${from}T00:00:00Z`, to: `${to}T00:00:00Z`, ...(agentId && { agent_id: agentId }) };
      const { body, value } = await readFrom<Partial<UsageTables>>(context, options, {
        key: ({ call }) => call({ method: "GET", path: "/usage/models", query }),
        async owner({ pool, accountId = "" }) {
          const tables = await readUsageTables(pool, { accountId, from, to, agentId, interval });
          return { from, to, interval, ...tables };
        },
      });
      return { value, text: drawUsage(body) };
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

/** The API has no sums by agent, and none in all. */
function drawUsage({ models = [], agents, series = [], total }: Partial<UsageTables>): string {
  if (models.length === 0) return "There are no model calls.";
  const sums = ["calls", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"] as const;
  const ofDays = total ? sums : (["input_tokens", "output_tokens", "cost_usd"] as const);
  return [
    formatTable(["model", "provider", ...sums], models),
    ...(agents ? [formatTable(["agent_id", ...sums], agents)] : []),
    formatTable(["day", ...ofDays], series),
    ...(total ? [formatTable(sums, [total])] : []),
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

/** What both the API and the database tell. */
type Shown = Pick<Usage, "plan" | "month" | "bytes" | "agents"> &
  Partial<Pick<Usage, "email" | "resets_at">> & { traces: Usage["traces"] & { resets_at?: string } };

function describe({ email, plan, month, traces, bytes, agents, resets_at = traces.resets_at }: Shown): string {
  const name = isPlanId(plan) ? planOf(plan).name : plan;
  return formatFields({
    ...(email === undefined ? { plan: name } : { account: `${email} (${name})` }),
    month: `${month}, UTC; starts anew at ${resets_at}`,
    traces: `${formatCount(traces.current)} of ${formatCount(traces.limit)}`,
    bytes: `${formatCount(bytes.current)} of ${formatCount(bytes.limit)}`,
    agents: `${formatCount(agents.current)} of ${agents.limit === null ? "any number" : formatCount(agents.limit)}`,
  });
}
