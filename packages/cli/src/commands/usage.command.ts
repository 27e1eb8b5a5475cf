import { readUsage, type Usage } from "@waymark/accounts";
import { isPlanId, planOf } from "@waymark/plan";
import type { Command } from "commander";
import { resolveAccount } from "../arguments/resolve-owner.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { formatCount } from "../output/number-text.js";
import { formatFields } from "../output/table.js";

/** `waymark usage`. */
export function addUsageCommand(program: Command, act: Act): void {
  program
    .command("usage")
    .description("show an account's use of its plan in this UTC month")
    .requiredOption("--account <account>", "the account's id or address")
    .addHelpText("after", "\nExample:\n  $ waymark usage --account me@example.com")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onDatabase(context, async ({ pool, prisma }) => {
          const { id } = await resolveAccount(prisma, account);
          return readUsage(pool, id, context.now());
        });
        return { value, text: describe(value) };
      }),
    );
}

function describe(usage: Usage): string {
  const plan = isPlanId(usage.plan) ? planOf(usage.plan).name : usage.plan;
  return formatFields({
    account: `${usage.email} (${plan})`,
    month: `${usage.month}, UTC; starts anew at ${usage.resets_at}`,
    traces: `${formatCount(usage.traces.current)} of ${formatCount(usage.traces.limit)}`,
    agents: `${formatCount(usage.agents.current)} of ${usage.agents.limit === null ? "any number" : formatCount(usage.agents.limit)}`,
  });
}
