import { listAlerts, retryAlert } from "@waymark/alerts";
import { isUuid } from "@waymark/database";
import { wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { CommandError } from "../context/command-error.js";
import { listing } from "../output/terminal-text.js";

export function declareCommand(command: TopCommand): void {
  const alert = command.group();
  alert("list", "list an account's alerts, newest first: pending, held for a summary, sent, or failed for good")
    .required("--account <account>", "the account's id or address")
    .option("--failed", "only those that failed for good")
    .option("--limit <n>", "at most so many, 1 to 10000", { parse: wholeNumber(1, 10_000), default: 100 })
    .query(
      ({ pool, accountId }, { failed = false, limit }) => listAlerts(pool, { accountId, failed, limit }),
      listing(
        ["id", "trace_id", "status", "state", "failures", "summary_id", "attempts", "created_at", "last_error"],
        "There are no such alerts.",
      ),
    );
  alert("retry", "have the worker send a failed alert again")
    .argument("<alert-id>", "the alert's id, as 'waymark alert list' shows it")
    .query(
      async ({ pool }, alertId) => {
        const found = isUuid(alertId) ? await retryAlert(pool, alertId) : undefined;
        if (!found) {
          throw new CommandError(`There is no alert '${alertId}'. 'waymark alert list --account ID' shows them.`);
        }
        if (found.sent_at) throw new CommandError(`Alert ${alertId} was sent at ${found.sent_at}.`);
        if (found.summary_id) {
          throw new CommandError(`Alert ${alertId} is in the summary ${found.summary_id}, which is on its way.`);
        }
        return found;
      },
      ({ id }) => `The alert ${id} is pending again; the worker sends it.`,
    );
}
