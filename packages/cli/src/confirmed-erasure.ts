import {
  countOwned,
  type EraseControl,
  type Erased,
  eraseAccount,
  eraseSite,
  findAccount,
  findSite,
} from "@waymark/accounts";
import { type CommandContext, type CommandDatabase, interruptedExitCode, type Outcome } from "./command-context.js";
import { CommandError } from "./command-error.js";
import { printable } from "./terminal-text.js";

/**
 * Removes an account with all that it has, or says what that would be.
 * @throws CommandError without `isConfirmed`; AccountError when there is no such account
 */
export async function deleteAccount(
  context: CommandContext,
  { pool, prisma }: CommandDatabase,
  { id, isConfirmed }: { id: string; isConfirmed: boolean },
): Promise<Outcome> {
  const account = await findAccount(prisma, id);
  const { sites, keys, traces } = await countOwned(pool, account.id);
  const what = `the account ${account.email} with ${keys}, ${sites} with all statistics, ${traces}`;
  if (!isConfirmed) throw new CommandError(refusal(what));
  const { erased, isComplete } = await follow(context, (control) => eraseAccount(pool, account.id, control));
  const value = { id: account.id, removed: erased, complete: isComplete };
  return finish(value, `Removed ${what}. Mails that were sent, and backups, still hold what they hold.`);
}

/**
 * Removes a site with its events and figures, or says what that would be.
 * @throws CommandError without `isConfirmed`, or when there is no such site
 */
export async function deleteSite(
  context: CommandContext,
  { pool }: CommandDatabase,
  { id, isConfirmed }: { id: string; isConfirmed: boolean },
): Promise<Outcome> {
  const site = await findSite(pool, id);
  const what = `the site ${printable(site.name)} (${site.domain}) with its events and statistics`;
  if (!isConfirmed) throw new CommandError(refusal(what));
  const { erased, isComplete } = await follow(context, (control) => eraseSite(pool, site.id, control));
  return finish({ id: site.id, removed: erased, complete: isComplete }, `Removed ${what}.`);
}

function refusal(what: string): string {
  return `This removes ${what}, for good. Add --yes to do it.`;
}

function finish(value: { id: string; complete: boolean; removed: Erased }, text: string): Outcome {
  if (value.complete) return { value, text };
  const rows = Object.values(value.removed).reduce((sum, n) => sum + n, 0);
  const stopped = `Stopped after ${rows.toLocaleString("en-US")} rows. Run the command again to go on.`;
  return { value, text: stopped, exitCode: interruptedExitCode };
}

/** Erases, with its progress on a terminal; Ctrl-C stops it after the piece in hand. */
async function follow(context: CommandContext, erase: (control: EraseControl) => Promise<Erased>) {
  const signal = context.catchInterrupts();
  const { stderr } = context;
  const control = {
    isStopping: () => signal.aborted,
    onProgress: (table: string, rows: number) => {
      if (stderr.isTTY) stderr.write(`\r\u001b[KRemoving: ${rows.toLocaleString("en-US")} rows of ${table}`);
    },
  };
  try {
    const erased = await erase(control);
    return { erased, isComplete: !signal.aborted };
  } finally {
    if (stderr.isTTY) stderr.write("\r\u001b[K");
  }
}
