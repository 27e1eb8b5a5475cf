import { listFailures } from "@waymark/traces";
import { type Command, Option } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { parseTime, type TimeArgument, timeForms, wholeNumber } from "../arguments/values.js";
import type { Act } from "../context/command-context.js";
import { formatTable } from "../output/terminal-text.js";

const listHelp = `
A failure is an agent, and the innermost failing span's name and error, both without numbers, ids and quotations.
'waymark mute create' silences one.

Example:
  $ waymark failure list --account me@example.com --from 1d`;

const defaultDays = 30;

interface ListOptions {
  account: string;
  agent?: string;
  from?: TimeArgument;
  to?: TimeArgument;
  limit: number;
}

/** `waymark failure list`. */
export function addFailureCommands(program: Command, act: Act): void {
  program
    .command("failure")
    .description("list what went wrong in failed traces")
    .command("list")
    .description("list what went wrong in an account's failed traces, most frequent first")
    .requiredOption("--account <account>", "the account's id or address")
    .option("--agent <agent>", "only this agent's traces")
    .option("--from <time>", `the earliest start: ${timeForms}; ${defaultDays}d by default`, parseTime)
    .option("--to <time>", "the time that all starts are before", parseTime)
    .addOption(new Option("--limit <n>", "the most failures to list").default(50).argParser(wholeNumber(1, 1_000)))
    .addHelpText("after", listHelp)
    .action(
      act(async (context, { account, agent, limit, ...range }: ListOptions) => {
        const now = context.now();
        const to = range.to?.(now) ?? now.toISOString();
        const from = range.from?.(now) ?? new Date(Date.parse(to) - defaultDays * 86_400_000).toISOString();
        const { failures: value } = await onAccount(context, account, (pool, accountId) =>
          listFailures(pool, { accountId, from, to, agentId: agent, limit }),
        );
        const columns = [
          "count",
          "agent_id",
          "span_name",
          "error",
          "last_at",
          "trace_id",
          "muted_until",
          "id",
        ] as const;
        return { value, text: value.length > 0 ? formatTable(columns, value) : "There are none." };
      }),
    );
}
