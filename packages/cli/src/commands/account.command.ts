import { changePlan, createAccount, listAccounts } from "@waymark/auth";
import { type PlanId, planIds, planOf } from "@waymark/plan";
import { type Command, Option } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { formatFields, formatTable } from "../table.js";

const planOption = () => new Option("--plan <plan>", "what the account may use").choices(planIds).makeOptionMandatory();

/** `waymark account create|list|plan`. */
export function addAccountCommands(program: Command, act: Act): void {
  const account = program.command("account").description("create accounts, list them, change their plan");

  account
    .command("create")
    .description("create an account")
    .requiredOption("--email <address>", "the address that identifies it, and that failure mails go to")
    .addOption(planOption())
    .addHelpText("after", "\nExample:\n  $ waymark account create --email me@example.com --plan free")
    .action(
      act(async (context, options: { email: string; plan: PlanId }) => {
        const value = await onDatabase(context, ({ prisma }) => createAccount(prisma, options));
        return { value, text: formatFields({ ...value }) };
      }),
    );

  account
    .command("list")
    .description("list all accounts, oldest first")
    .action(
      act(async (context) => {
        const value = await onDatabase(context, ({ prisma }) => listAccounts(prisma));
        const text = formatTable(["id", "email", "plan"], value);
        return { value, text: value.length > 0 ? text : "There are no accounts. 'waymark account create' makes one." };
      }),
    );

  account
    .command("plan")
    .description("move an account to another plan; running services know within a second")
    .argument("<id>", "the account's id")
    .addOption(planOption())
    .addHelpText("after", "\nExample:\n  $ waymark account plan ID --plan pro")
    .action(
      act(async (context, id: string, { plan }: { plan: PlanId }) => {
        const value = await onDatabase(context, ({ prisma }) => changePlan(prisma, id, plan));
        return { value, text: `${value.email} is on the ${planOf(plan).name} plan.` };
      }),
    );
}
