import { findSite } from "@waymark/accounts";
import { type Difference, RebuildRunningError, rebuildRollups } from "@waymark/analytics";
import { type Command, InvalidArgumentError } from "commander";
import {
  type Act,
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
} from "../command-context.js";
import { CommandError } from "../command-error.js";

interface RebuildCommandOptions {
  site: string;
  from?: string;
  to?: string;
  check?: true;
}

/** Differences that the result lists; there may be millions, and the first tell what is wrong. */
const maxListed = 100;

const help = `
Each UTC day is counted anew over the raw events, and what the rollups say differently is shown and mended. Days whose events
are past their retention are left alone. Events go on being recorded meanwhile.
With --check nothing is changed, and the exit code is 1 when something differs.

Examples:
  $ waymark rollup rebuild --site ID
  $ waymark rollup rebuild --site ID --from 2026-05-01 --to 2026-05-31 --check`;

/** `waymark rollup rebuild`. */
export function addRollupCommands(program: Command, act: Act): void {
  const rollup = program.command("rollup").description("compare a site's figures with its raw events");
  rollup
    .command("rebuild")
    .description("count a site's figures anew, report what differs, and mend it")
    .requiredOption("--site <id>", "the site")
    .option("--from <day>", "the first UTC day, such as 2026-05-01", parseDay)
    .option("--to <day>", "the last UTC day", parseDay)
    .option("--check", "only report")
    .addHelpText("after", help)
    .action(
      act((context, options: RebuildCommandOptions) =>
        onDatabase(context, (database) => rebuild(context, database, options)),
      ),
    );
}

async function rebuild(
  context: CommandContext,
  { pool }: CommandDatabase,
  options: RebuildCommandOptions,
): Promise<Outcome> {
  const { id } = await findSite(pool, options.site);
  const signal = context.catchInterrupts();
  const listed: Difference[] = [];
  const progress = { days: 0, differences: 0, skipped: 0 };
  const isCheck = options.check === true;
  let isComplete = false;
  try {
    const result = await rebuildRollups({
      pool,
      siteId: id,
      from: options.from ?? null,
      to: options.to ?? null,
      replace: !isCheck,
      signal,
      onDifference: (difference) => {
        progress.differences++;
        if (listed.length < maxListed) listed.push(difference);
      },
      onProgress: ({ done, days }) => {
        progress.days = done;
        if (context.stderr.isTTY) context.stderr.write(`\rComparing: ${done} of ${days} days`);
      },
    });
    Object.assign(progress, result);
    isComplete = true;
  } catch (error) {
    if (error instanceof RebuildRunningError) throw new CommandError(error.message, { cause: error });
    if (!signal.aborted) throw error;
  } finally {
    if (context.stderr.isTTY) context.stderr.write("\r\u001b[K");
  }
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
    ({ day, what, stored, counted }) => `${day}  ${what.trim()}: stored ${tell(stored)}, counted ${tell(counted)}`,
  );
  if (differences > listed.length) lines.push(`... and ${differences - listed.length} more`);
  const verdict = differences === 0 ? "no difference" : `${differences} differences, ${isCheck ? "left" : "mended"}`;
  const left = skipped > 0 ? `; ${skipped} days are past the retention of raw events and were left alone` : "";
  return [...lines, `${days} days compared: ${verdict}${left}.`].join("\n");
}

function tell(figures: readonly number[] | null): string {
  return figures === null ? "nothing" : figures.join(" / ");
}

function parseDay(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(text).toJSON()?.startsWith(text)) return text;
  throw new InvalidArgumentError("It must be a UTC day such as 2026-05-01.");
}
