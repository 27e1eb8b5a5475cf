import { changeEmail, changePlan, createAccount, listAccounts } from "@waymark/accounts";
import { type PlanId, planIds, planOf } from "@waymark/plan";
import { type Command, Option } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { deleteAccount } from "../confirmed-erasure.js";
import { formatFields, formatTable } from "../table.js";

const planOption = () => new Option("--plan <plan>", "what the account may use").choices(planIds).makeOptionMandatory();

const deleteHelp = `
The keys are revoked first, then everything goes in pieces: traces and spans, alerts, usage, sites with their events and
statistics, and last the account. Ctrl-C stops after the piece in hand; the same command goes on.

Example:
  $ waymark account delete --account ID --yes`;

/** `waymark account create|list|plan|change|delete`. */
export function addAccountCommands(program: Command, act: Act): void {
  const account = program
    .command("account")
    .description("create accounts, list them, change their plan or address, delete them");

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

  account
    .command("change")
    .description("give an account another address")
    .requiredOption("--account <id>", "the account's id")
    .requiredOption("--email <address>", "the new address that identifies it, and that failure mails go to")
    .addHelpText("after", "\nExample:\n  $ waymark account change --account ID --email new@example.com")
    .action(
      act(async (context, { account: id, email }: { account: string; email: string }) => {
        const value = await onDatabase(context, ({ prisma }) => changeEmail(prisma, id, email));
        return { value, text: `The account's address is ${value.email} now.` };
      }),
    );

  account
    .command("delete")
    .description("remove an account with everything that it has, for good")
    .requiredOption("--account <id>", "the account's id")
    .option("--yes", "do it; without, the command only says what it would remove")
    .addHelpText("after", deleteHelp)
    .action(
      act((context, { account: id, yes }: { account: string; yes?: true }) =>
        onDatabase(context, (database) => deleteAccount(context, database, { id, isConfirmed: yes === true })),
      ),
    );
}
