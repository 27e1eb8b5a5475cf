import { listAllSites, type Site } from "@waymark/accounts";
import { type Difference, rebuildRollups } from "@waymark/web-stats/analytics";
import { findWrongDays } from "@waymark/web-stats/statistics";
import { resolveSite } from "../arguments/resolve-owner.js";
import { dayOf, parseTime, type TimeArgument, timeForms } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import {
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  withStatus,
} from "../context/command-context.js";
import { printable } from "../output/terminal-text.js";

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

export function declareCommand(command: TopCommand): void {
  const rollup = command.group();
  rollup("rebuild", "count a site's figures again, report differences, and mend them", help)
    .option("--site <site>", "the site's id or domain")
    .option("--all", "every site, one after the other")
    .option("--from <time>", `the first UTC day: ${timeForms}`, { parse: parseTime })
    .option("--to <time>", "the last UTC day", { parse: parseTime })
    .option("--check", "only report")
    .check(({ site, all }) => (site !== undefined) === (all === true) && "Give either --site or --all.")
    .run((context, options) => onDatabase(context, (database) => rebuild(context, database, options), 0));
}

async function rebuild(
  context: CommandContext,
  { pool }: CommandDatabase,
  options: { site?: string; from?: TimeArgument; to?: TimeArgument; check?: true },
): Promise<Outcome> {
  const sites = options.site === undefined ? await listAllSites(pool) : [await resolveSite(pool, options.site)];
  const listed: Difference[] = [];
  const progress = { days: 0, differences: 0, skipped: 0 };
  const isCheck = options.check === true;
  const day = (time: TimeArgument | undefined) => (time ? dayOf(time(context.now())) : null);
  const onDifference = (difference: Difference) => {
    progress.differences++;
    if (listed.length < maxListed) listed.push(difference);
  };
  const rebuildSite = async (site: Site, say: (text: string) => void, signal: AbortSignal) => {
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
        say(`Comparing ${printable(site.domain)}: ${done} of ${all} days`);
      },
    });
    Object.assign(progress, { days: days + result.days, skipped: skipped + result.skipped });
    say(`Comparing columns of ${printable(site.domain)}`);
    const asked = { first: day(options.from) ?? "-infinity", last: day(options.to) ?? "infinity" };
    for (const wrong of await findWrongDays(pool, { siteId: site.id, days: asked, remove: !isCheck, signal })) {
      const what = "different parts of columns";
      onDifference({ siteId: site.id, day: wrong.day, what, stored: [wrong.parts], counted: [0] });
    }
  };
  const { isComplete } = await withStatus(context, async (say, signal) => {
    for (const site of sites) await rebuildSite(site, say, signal);
  });
  const exitCode = !isComplete ? interruptedExitCode : isCheck && progress.differences > 0 ? 1 : 0;
  const value = { ...progress, mended: !isCheck, listed: listed.map(({ siteId: _siteId, ...rest }) => rest) };
  return { value, text: describe(progress, listed, isCheck), exitCode };
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
