import {
  countOwned,
  countOwnedBySite,
  type EraseControl,
  type Erased,
  eraseAccount,
  eraseSite,
  type Owned,
  type OwnedBySite,
} from "@waymark/accounts";
import { resolveAccount, resolveSite } from "../arguments/resolve-owner.js";
import {
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  untilInterrupted,
} from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { showStatus } from "../output/progress.js";
import { formatCount, inWords, printable } from "../output/terminal-text.js";

/**
 * Removes an account with everything it has.
 * @throws CommandError without `isConfirmed`: a sentence that lists what would go; AccountError `unknown_account`
 */
export async function deleteAccount(
  context: CommandContext,
  { pool, prisma }: CommandDatabase,
  { account: text, isConfirmed }: { account: string; isConfirmed: boolean },
): Promise<Outcome> {
  const account = await resolveAccount(prisma, text);
  const what = `the account ${account.email} with ${describeOwned(await countOwned(pool, account.id))}`;
  if (!isConfirmed) throw new CommandError(refusal(what));
  const done = await follow(context, (control) => eraseAccount(pool, account.id, control));
  return present(account.id, done, `Removed ${what}. Sent mails and backups keep what they hold.`);
}

/**
 * Removes a site with its events and figures.
 * @throws CommandError without `isConfirmed`: a sentence that lists what would go; AccountError `unknown_site`
 */
export async function deleteSite(
  context: CommandContext,
  { pool }: CommandDatabase,
  { site: text, isConfirmed }: { site: string; isConfirmed: boolean },
): Promise<Outcome> {
  const site = await resolveSite(pool, text);
  const what = `the site ${printable(site.name)} (${site.domain}) with its events and statistics${describeGoals(await countOwnedBySite(pool, site.id))}`;
  if (!isConfirmed) throw new CommandError(refusal(what));
  const done = await follow(context, (control) => eraseSite(pool, site.id, control));
  return present(site.id, done, `Removed ${what}.`);
}

function describeOwned(owned: Owned): string {
  const { keys, sites, traces, hasMoreTraces } = owned;
  const ofSites = `${inWords(sites, "site")} with all statistics${describeGoals(owned)}`;
  return `${inWords(keys, "key")}, ${ofSites}, ${hasMoreTraces ? "more than " : ""}${inWords(traces, "trace")}`;
}

/** Names goals and funnels where there are some. */
function describeGoals({ goals, funnels }: OwnedBySite): string {
  return `${goals > 0 ? `, ${inWords(goals, "goal")}` : ""}${funnels > 0 ? `, ${inWords(funnels, "funnel")}` : ""}`;
}

function refusal(what: string): string {
  return `This removes ${what}, for good. Add --yes to do it.`;
}

interface Erasure {
  erased: Erased;
  isComplete: boolean;
}

function present(id: string, { erased, isComplete }: Erasure, text: string): Outcome {
  const value = { id, removed: erased, complete: isComplete };
  if (isComplete) return { value, text };
  const rows = Object.values(erased).reduce((sum, n) => sum + n, 0);
  const stopped = `Stopped after ${formatCount(rows)} rows. The worker removes the rest within the hour.`;
  return { value, text: stopped, exitCode: interruptedExitCode };
}

/** Erases and shows how far it is. Ctrl-C stops it after the current batch. */
async function follow(context: CommandContext, erase: (control: EraseControl) => Promise<Erased>): Promise<Erasure> {
  const status = showStatus(context.stderr);
  let erased: Erased = {};
  const isComplete = await untilInterrupted(context, status, async (signal) => {
    erased = await erase({
      isStopping: () => signal.aborted,
      onProgress: (table, rows) => status.update(`Removing: ${formatCount(rows)} rows of ${table}`),
    });
  });
  return { erased, isComplete };
}
