import { type Command, InvalidArgumentError, Option } from "commander";
import { listAlerts, retryAlert } from "../alerts.query.js";
import { type Act, onDatabase } from "../command-context.js";
import { formatTable } from "../table.js";

const defaultLimit = 100;
const maxLimit = 10_000;

/** `waymark alert list|retry`. */
export function addAlertCommands(program: Command, act: Act): void {
  const alert = program.command("alert").description("look at the failure mails of an account, send failed ones again");

  alert
    .command("list")
    .description("list an account's alerts, newest first: owed, held for a summary, sent, or failed for good")
    .requiredOption("--account <id>", "whose alerts")
    .option("--failed", "only those that failed for good")
    .addOption(
      new Option("--limit <n>", `at most so many, 1 to ${maxLimit}`).default(defaultLimit).argParser(parseLimit),
    )
    .action(
      act(async (context, options: { account: string; failed?: true; limit: number }) => {
        const { account, failed = false, limit } = options;
        const value = await onDatabase(context, ({ prisma }) => listAlerts(prisma, account, { failed, limit }));
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
    .description("have the worker send a failed alert again, with its next sweep")
    .argument("<alert-id>", "the alert's id, as 'waymark alert list' shows it")
    .action(
      act(async (context, alertId: string) => {
        const value = await onDatabase(context, ({ pool, prisma }) => retryAlert(pool, prisma, alertId));
        return { value, text: `The alert ${value.id} is owed again; the worker's next sweep sends it.` };
      }),
    );
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= maxLimit) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxLimit}.`);
}
