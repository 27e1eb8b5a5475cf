import { listAllSites, type Site } from "@waymark/accounts";
import { type Difference, RebuildRunningError, rebuildRollups } from "@waymark/web-stats/analytics";
import { findWrongDays } from "@waymark/web-stats/statistics";
import type { Command } from "commander";
import type pg from "pg";
import { resolveSite } from "../arguments/resolve-owner.js";
import { dayOf, parseTime, type TimeArgument, timeForms } from "../arguments/values.js";
import {
  type Act,
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  untilInterrupted,
} from "../context/command-context.js";
import { CommandError, UsageError } from "../context/command-error.js";
import { showStatus } from "../output/progress.js";
import { printable } from "../output/terminal-text.js";

interface RebuildCommandOptions {
  site?: string;
  all?: true;
  from?: TimeArgument;
  to?: TimeArgument;
  check?: true;
}

/** There may be millions of differences, and the first ones are enough. */
const maxListed = 100;

const help = `
The command counts each UTC day again over the raw events, and shows and mends differences to the rollups. Stored columns
that differ from the events are dropped, and the worker stores them anew. It leaves days past the retention of events alone.
Events are still recorded meanwhile.
With --check it changes nothing, and the exit code is 1 when something differs.

Examples:
  $ waymark rollup rebuild --site example.com
  $ waymark rollup rebuild --all
  $ waymark rollup rebuild --site example.com --from 7d
  $ waymark rollup rebuild --site example.com --from 2026-05-01 --to 2026-05-31 --check`;

/** `waymark rollup rebuild`. */
export function addRollupCommands(program: Command, act: Act): void {
  const rollup = program.command("rollup").description("compare a site's figures with its raw events");
  rollup
    .command("rebuild")
    .description("count a site's figures again, report differences, and mend them")
    .option("--site <site>", "the site's id or domain")
    .option("--all", "every site, one after the other")
    .option("--from <time>", `the first UTC day: ${timeForms}`, parseTime)
    .option("--to <time>", "the last UTC day", parseTime)
    .option("--check", "only report")
    .addHelpText("after", help)
    .action(
      act((context, options: RebuildCommandOptions) => {
        const isOne = options.site !== undefined;
        if (isOne === (options.all === true)) throw new UsageError("Give either --site or --all.");
        return onDatabase(context, (database) => rebuild(context, database, options), 0);
      }),
    );
}

async function rebuild(
  context: CommandContext,
  { pool }: CommandDatabase,
  options: RebuildCommandOptions,
): Promise<Outcome> {
  const sites = await chosenSites(pool, options);
  const listed: Difference[] = [];
  const progress = { days: 0, differences: 0, skipped: 0 };
  const isCheck = options.check === true;
  const status = showStatus(context.stderr);
  const day = (time: TimeArgument | undefined) => (time ? dayOf(time(context.now())) : null);
  const onDifference = (difference: Difference) => {
    progress.differences++;
    if (listed.length < maxListed) listed.push(difference);
  };
  const rebuildSite = async (site: Site, signal: AbortSignal) => {
    const { days, skipped } = progress;
    const result = await rebuildRollups({
      pool,
      siteId: site.id,
      from: day(options.from),
      to: day(options.to),
      replace: !isCheck,
      signal,
      onDifference,
      onProgress: ({ done, days: all }) => {
        progress.days = days + done;
        status.update(`Comparing ${printable(site.domain)}: ${done} of ${all} days`);
      },
    });
    Object.assign(progress, { days: days + result.days, skipped: skipped + result.skipped });
    status.update(`Comparing columns of ${printable(site.domain)}`);
    const asked = { first: day(options.from) ?? "-infinity", last: day(options.to) ?? "infinity" };
    for (const wrong of await findWrongDays(pool, { siteId: site.id, days: asked, remove: !isCheck, signal })) {
      const what = "different parts of columns";
      onDifference({ siteId: site.id, day: wrong.day, what, stored: [wrong.parts], counted: [0] });
    }
  };
  const work = async (signal: AbortSignal) => {
    for (const site of sites) await rebuildSite(site, signal);
  };
  const isComplete = await untilInterrupted(context, status, work).catch((error: unknown) => {
    if (error instanceof RebuildRunningError) throw new CommandError(error.message, { cause: error });
    throw error;
  });
  const exitCode = !isComplete ? interruptedExitCode : isCheck && progress.differences > 0 ? 1 : 0;
  const value = { ...progress, mended: !isCheck, listed: listed.map(({ siteId: _siteId, ...rest }) => rest) };
  return { value, text: describe(progress, listed, isCheck), exitCode };
}

async function chosenSites(pool: pg.Pool, { site }: RebuildCommandOptions): Promise<Site[]> {
  return site === undefined ? listAllSites(pool) : [await resolveSite(pool, site)];
}

function describe(
  { days, differences, skipped }: { days: number; differences: number; skipped: number },
  listed: readonly Difference[],
  isCheck: boolean,
): string {
  const lines = listed.map(
    ({ day, what, stored, counted }) =>
      `${day}  ${what.trim()}: stored ${inFigures(stored)}, counted ${inFigures(counted)}`,
  );
  if (differences > listed.length) lines.push(`... and ${differences - listed.length} more`);
  const verdict = differences === 0 ? "no difference" : `${differences} differences, ${isCheck ? "left" : "mended"}`;
  const left = skipped > 0 ? `; ${skipped} days are past the retention of raw events and were left alone` : "";
  return [...lines, `${days} days compared: ${verdict}${left}.`].join("\n");
}

function inFigures(figures: readonly number[] | null): string {
  return figures === null ? "nothing" : figures.join(" / ");
}
