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
  withStatus,
} from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { formatCount, inWords, printable } from "../output/terminal-text.js";

/**
 * Removes an account with everything it has.
 * @throws CommandError without `yes`: a sentence that lists what would go; AccountError `unknown_account`
 */
export async function deleteAccount(
  context: CommandContext,
  { pool, prisma }: CommandDatabase,
  { account: text, yes }: { account: string; yes?: true },
): Promise<Outcome> {
  const account = await resolveAccount(prisma, text);
  const what = `the account ${account.email} with ${describeOwned(await countOwned(pool, account.id))}`;
  if (!yes) throw new CommandError(`This removes ${what}, for good. Add --yes to do it.`);
  const done = await showErasure(context, (control) => eraseAccount(pool, account.id, control));
  return present(account.id, done, `Removed ${what}. Sent mails and backups keep what they hold.`);
}

/**
 * Removes a site with its events and figures.
 * @throws CommandError without `yes`: a sentence that lists what would go; AccountError `unknown_site`
 */
export async function deleteSite(
  context: CommandContext,
  { pool }: CommandDatabase,
  { site: text, yes }: { site: string; yes?: true },
): Promise<Outcome> {
  const site = await resolveSite(pool, text);
  const what = `the site ${printable(site.name)} (${site.domain}) with its events and statistics${describeGoals(await countOwnedBySite(pool, site.id))}`;
  if (!yes) throw new CommandError(`This removes ${what}, for good. Add --yes to do it.`);
  const done = await showErasure(context, (control) => eraseSite(pool, site.id, control));
  return present(site.id, done, `Removed ${what}.`);
}

function describeOwned(owned: Owned): string {
  const { keys, sites, traces, hasMoreTraces } = owned;
  const ofSites = `${inWords(sites, "site")} with all statistics${describeGoals(owned)}`;
  return `${inWords(keys, "key")}, ${ofSites}, ${hasMoreTraces ? "more than " : ""}${inWords(traces, "trace")}`;
}

function describeGoals({ goals, funnels }: OwnedBySite): string {
  return `${goals > 0 ? `, ${inWords(goals, "goal")}` : ""}${funnels > 0 ? `, ${inWords(funnels, "funnel")}` : ""}`;
}

type Erasure = Awaited<ReturnType<typeof showErasure>>;

function present(id: string, { isComplete, result: removed = {} }: Erasure, text: string): Outcome {
  const value = { id, removed, complete: isComplete };
  if (isComplete) return { value, text };
  const rows = Object.values(removed).reduce((sum, n) => sum + n, 0);
  const stopped = `Stopped after ${formatCount(rows)} rows. The worker removes the rest within the hour.`;
  return { value, text: stopped, exitCode: interruptedExitCode };
}

/** Erases and shows how far it is. Ctrl-C stops it after the current batch. */
export function showErasure(context: CommandContext, erase: (control: EraseControl) => Promise<Erased>) {
  return withStatus(context, (say, signal) =>
    erase({
      isStopping: () => signal.aborted,
      onProgress: (table, rows) => say(`Removing: ${formatCount(rows)} rows of ${table}`),
    }),
  );
}
