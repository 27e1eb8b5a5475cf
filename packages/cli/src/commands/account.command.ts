import { changeEmail, changeKeep, changePlan, createAccount, dropFactors, listAccounts } from "@waymark/accounts";
import { alertModes, changeAlertSettings } from "@waymark/alerts";
import { allSlots, parseSlots, type Slots } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { planIds, planOf } from "@waymark/plan";
import { instrumentations, keepModes } from "@waymark/traces";
import { resolveAccount } from "../arguments/resolve-owner.js";
import { emailAddress, names, seconds } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { formatFields, listing } from "../output/terminal-text.js";
import { deleteAccount } from "./confirmed-erasure.js";

const createHelp = "\nExample:\n  $ waymark account create --email me@example.com --plan free";
const planHelp = "\nExample:\n  $ waymark account plan me@example.com --plan pro";
const keepHelp = `
With '--leave-out', traces of agents lose the spans of these instrumentations: ${instrumentations.join(", ")}.

Example:
  $ waymark account keep me@example.com --mode agents --leave-out http,fs`;
const emailHelp = "\nExample:\n  $ waymark account email --account me@example.com --email new@example.com";

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

const factorsHelp = `
For somebody who lost their phone or device. Their sessions end too; they sign in by a password or link, then add new ones.

Example:
  $ waymark account drop-factors --email grace@example.com`;

export function declareCommand(command: TopCommand): void {
  const account = command.group();
  account("create", "create an account", createHelp)
    .required("--email <address>", "its address, which gets the alerts")
    .required("--plan <plan>", "the plan", { choices: planIds })
    .run(async (context, { email, plan }) => {
      const slots = slotsOf(context.env);
      const value = await onDatabase(context, ({ prisma }) => createAccount(prisma, { email, plan, slots }));
      return { value, text: formatFields(value) };
    });
  account("list", "list all accounts, oldest first").query(
    ({ prisma }) => listAccounts(prisma),
    listing(["id", "email", "plan"], "There are no accounts. 'waymark account create' makes one."),
  );
  account("plan", "move an account to another plan; running services know within a second", planHelp)
    .argument("<account>", "the account's id or address")
    .required("--plan <plan>", "the plan", { choices: planIds })
    .query(
      async ({ pool, prisma }, text, { plan }) => changePlan(pool, (await resolveAccount(prisma, text)).id, plan),
      ({ email }, _, { plan }) => `${email} is on the ${planOf(plan).name} plan.`,
    );
  account("keep", "say which OpenTelemetry traces an account keeps: all, or those with an agent", keepHelp)
    .argument("<account>", "the account's id or address")
    .required("--mode <mode>", "all traces, or those with a span of an agent", { choices: keepModes })
    .option("--leave-out <list>", "instrumentations to leave out, or none", { parse: parseLeftOut })
    .query(
      async ({ pool, prisma }, text, { mode, leaveOut }) =>
        changeKeep(pool, (await resolveAccount(prisma, text)).id, mode, leaveOut),
      ({ email, keep }) => `${email} keeps ${keep === "all" ? "all traces" : "traces of agents"}.`,
    );
  account("email", "give an account another address", emailHelp)
    .alias("change")
    .required("--account <account>", "the account's id or present address")
    .required("--email <address>", "its new address, which gets the alerts")
    .query(
      ({ prisma, accountId }, { email }) => changeEmail(prisma, accountId, email),
      ({ email }) => `The account's address is ${email} now.`,
    );
  account("alerts", "say how an account's alerts are sent: each by itself, or as digests", alertsHelp)
    .argument("<account>", "the account's id or address")
    .required("--mode <mode>", "one message per failure, or digests", { choices: alertModes })
    .option("--window <time>", "one digest per agent in this time, 1m to 24h; 10m at first", { parse: seconds })
    .query(async ({ pool, prisma }, text, { mode, window }) => {
      const { id } = await resolveAccount(prisma, text);
      const change = { mode, windowSeconds: window };
      const { windowSeconds } = await withTransaction(pool, (client) => changeAlertSettings(client, id, change));
      return { id, mode, window_seconds: windowSeconds };
    }, formatFields);
  account("drop-factors", "remove a person's one-time codes and passkeys", factorsHelp)
    .required("--email <address>", "the person's address", { parse: emailAddress })
    .query(
      async ({ pool }, { email }) => {
        const dropped = await dropFactors(pool, email);
        if (!dropped) throw new CommandError(`Nobody has the address '${email}'.`);
        return dropped;
      },
      ({ email, codes, passkeys }) =>
        `Removed of ${email}: ${codes ? "one-time codes" : "no one-time codes"}, passkeys: ${passkeys}.`,
    );
  account("delete", "remove an account with everything it has, for good", deleteHelp)
    .required("--account <account>", "the account's id or address")
    .option("--yes", "remove it; without --yes the command only lists what it would remove")
    .run((context, options) => onDatabase(context, (database) => deleteAccount(context, database, options)));
}

const parseLeftOut = (text: string) => (text === "none" ? [] : names(instrumentations)(text));

/** The slots of the cell, by `CELL_SLOTS`; all of them without it. */
function slotsOf(env: NodeJS.ProcessEnv): Slots {
  const text = env["CELL_SLOTS"];
  const slots = text ? parseSlots(text) : allSlots;
  if (!slots) throw new CommandError("CELL_SLOTS must be slots and ranges of them, such as 00-7f,a0.");
  return slots;
}
