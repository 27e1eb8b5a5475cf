import { type ListedAlert, listAlerts, retryAlert } from "@waymark/alerts";
import { isUuid } from "@waymark/database";
import { type Command, Option } from "commander";
import type pg from "pg";
import { onAccount } from "../arguments/resolve-owner.js";
import { wholeNumber } from "../arguments/values.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { formatTable } from "../output/terminal-text.js";

const defaultLimit = 100;
const maxLimit = 10_000;

/** `waymark alert list|retry`. */
export function addAlertCommands(program: Command, act: Act): void {
  const alert = program.command("alert").description("look at an account's alerts, send failed ones again");

  alert
    .command("list")
    .description("list an account's alerts, newest first: pending, held for a summary, sent, or failed for good")
    .requiredOption("--account <account>", "the account's id or address")
    .option("--failed", "only those that failed for good")
    .addOption(
      new Option("--limit <n>", `at most so many, 1 to ${maxLimit}`)
        .default(defaultLimit)
        .argParser(wholeNumber(1, maxLimit)),
    )
    .action(
      act(async (context, options: { account: string; failed?: true; limit: number }) => {
        const { account, failed = false, limit } = options;
        const value = await onAccount(context, account, (pool, accountId) =>
          listAlerts(pool, { accountId, failed, limit }),
        );
        const columns = [
          "id",
          "trace_id",
          "status",
          "state",
          "failures",
          "summary_id",
          "attempts",
          "created_at",
          "last_error",
        ] as const;
        return { value, text: value.length > 0 ? formatTable(columns, value) : "There are no such alerts." };
      }),
    );

  alert
    .command("retry")
    .description("have the worker send a failed alert again")
    .argument("<alert-id>", "the alert's id, as 'waymark alert list' shows it")
    .action(
      act(async (context, alertId: string) => {
        const value = await onDatabase(context, ({ pool }) => retry(pool, alertId));
        return { value, text: `The alert ${value.id} is pending again; the worker sends it.` };
      }),
    );
}

/** @throws CommandError where there is no such alert, it was sent, or a summary on its way lists it */
async function retry(pool: pg.Pool, alertId: string): Promise<ListedAlert> {
  const alert = isUuid(alertId) ? await retryAlert(pool, alertId) : undefined;
  if (!alert) throw new CommandError(`There is no alert '${alertId}'. 'waymark alert list --account ID' shows them.`);
  if (alert.sent_at) throw new CommandError(`Alert ${alertId} was sent at ${alert.sent_at}.`);
  if (alert.summary_id) {
    throw new CommandError(`Alert ${alertId} is in the summary ${alert.summary_id}, which is on its way.`);
  }
  return alert;
}
