import { changeEmail, changePlan, createAccount, listAccounts } from "@waymark/accounts";
import { type AlertMode, alertModes, changeAlertSettings } from "@waymark/alerts";
import { allSlots, parseSlots, type Slots } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { type PlanId, planIds, planOf } from "@waymark/plan";
import { type Command, Option } from "commander";
import { onAccount } from "../arguments/resolve-owner.js";
import { seconds } from "../arguments/values.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { formatFields, formatTable } from "../output/terminal-text.js";
import { deleteAccount } from "./confirmed-erasure.js";

const planOption = () => new Option("--plan <plan>", "the plan").choices(planIds).makeOptionMandatory();

const deleteHelp = `
The command removes the account with its keys and sites first, then their events and statistics, traces and spans, alerts and
usage. Ctrl-C stops it after the current batch; the worker removes the rest.

Example:
  $ waymark account delete --account me@example.com --yes`;

const alertsHelp = `
With 'digest', mail and chats get the first failure of an agent at once, then one message in each window with all that
failed meanwhile. Webhooks always get each failure.

Example:
  $ waymark account alerts me@example.com --mode digest --window 10m`;

/** `waymark account create|list|plan|email|alerts|delete`. */
export function addAccountCommands(program: Command, act: Act): void {
  const account = program
    .command("account")
    .description("create accounts, list them, change their plan or address, delete them");

  account
    .command("create")
    .description("create an account")
    .requiredOption("--email <address>", "its address, which gets the alerts")
    .addOption(planOption())
    .addHelpText("after", "\nExample:\n  $ waymark account create --email me@example.com --plan free")
    .action(
      act(async (context, options: { email: string; plan: PlanId }) => {
        const slots = slotsOf(context.env);
        const value = await onDatabase(context, ({ prisma }) => createAccount(prisma, { ...options, slots }));
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
  addChangeCommands(account, act);
}

function addChangeCommands(account: Command, act: Act): void {
  account
    .command("plan")
    .description("move an account to another plan; running services know within a second")
    .argument("<account>", "the account's id or address")
    .addOption(planOption())
    .addHelpText("after", "\nExample:\n  $ waymark account plan me@example.com --plan pro")
    .action(
      act(async (context, account: string, { plan }: { plan: PlanId }) => {
        const value = await onAccount(context, account, (pool, id) => changePlan(pool, id, plan));
        return { value, text: `${value.email} is on the ${planOf(plan).name} plan.` };
      }),
    );

  account
    .command("email")
    .alias("change")
    .description("give an account another address")
    .requiredOption("--account <account>", "the account's id or present address")
    .requiredOption("--email <address>", "its new address, which gets the alerts")
    .addHelpText("after", "\nExample:\n  $ waymark account email --account me@example.com --email new@example.com")
    .action(
      act(async (context, { account, email }: { account: string; email: string }) => {
        const value = await onAccount(context, account, (_pool, id, prisma) => changeEmail(prisma, id, email));
        return { value, text: `The account's address is ${value.email} now.` };
      }),
    );

  account
    .command("alerts")
    .description("say how an account's alerts are sent: each by itself, or as digests")
    .argument("<account>", "the account's id or address")
    .addOption(
      new Option("--mode <mode>", "one message per failure, or digests").choices(alertModes).makeOptionMandatory(),
    )
    .option("--window <time>", "one digest per agent in this time, 1m to 24h; 10m at first", seconds)
    .addHelpText("after", alertsHelp)
    .action(
      act(async (context, account: string, { mode, window }: { mode: AlertMode; window?: number }) => {
        const value = await onAccount(context, account, async (pool, id) => {
          const change = { mode, windowSeconds: window };
          const { windowSeconds } = await withTransaction(pool, (client) => changeAlertSettings(client, id, change));
          return { id, mode, window_seconds: windowSeconds };
        });
        return { value, text: formatFields(value) };
      }),
    );

  account
    .command("delete")
    .description("remove an account with everything it has, for good")
    .requiredOption("--account <account>", "the account's id or address")
    .option("--yes", "remove it; without --yes the command only lists what it would remove")
    .addHelpText("after", deleteHelp)
    .action(
      act((context, { account, yes }: { account: string; yes?: true }) =>
        onDatabase(context, (database) => deleteAccount(context, database, { account, isConfirmed: yes === true })),
      ),
    );
}

/** The slots of the cell, by `CELL_SLOTS`; all of them without it. */
function slotsOf(env: NodeJS.ProcessEnv): Slots {
  const text = env["CELL_SLOTS"];
  const slots = text ? parseSlots(text) : allSlots;
  if (!slots) throw new CommandError("CELL_SLOTS must be slots and ranges of them, such as 00-7f,a0.");
  return slots;
}
