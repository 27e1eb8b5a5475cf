import { readUsage, type Usage } from "@waymark/accounts";
import { isPlanId, planOf } from "@waymark/plan";
import type { Command } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { formatFields } from "../table.js";

/** `waymark usage`. */
export function addUsageCommand(program: Command, act: Act): void {
  program
    .command("usage")
    .description("show what an account has used of its plan in this UTC month")
    .requiredOption("--account <id>", "whose usage")
    .addHelpText("after", "\nExample:\n  $ waymark usage --account ID --json")
    .action(
      act(async (context, { account }: { account: string }) => {
        const value = await onDatabase(context, ({ prisma }) => readUsage(prisma, account, context.now()));
        return { value, text: describe(value) };
      }),
    );
}

function describe(usage: Usage): string {
  const plan = isPlanId(usage.plan) ? planOf(usage.plan).name : usage.plan;
  return formatFields({
    account: `${usage.email} (${plan})`,
    month: `${usage.month}, UTC; starts anew at ${usage.resets_at}`,
    traces: `${count(usage.traces.current)} of ${count(usage.traces.limit)}`,
    agents: `${count(usage.agents.current)} of ${usage.agents.limit === null ? "any number" : count(usage.agents.limit)}`,
  });
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
