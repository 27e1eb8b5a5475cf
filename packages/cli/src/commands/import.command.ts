import { findSite } from "@waymark/accounts";
import { type ImportProgress, ImportSuspendedError, importEvents, openCountryDirectory } from "@waymark/analytics";
import type { Command } from "commander";
import {
  type Act,
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
} from "../command-context.js";
import { CommandError } from "../command-error.js";
import { openImportInput } from "../import-input.js";
import { showProgress } from "../import-progress.js";
import { openRejectionReport } from "../rejections.js";

interface ImportCommandOptions {
  site: string;
  file: string;
  dropBots?: true;
  rejects?: string;
}

/** A file without one good line is of another kind. */
const failedExitCode = 1;

const help = `
A line is a JSON object:
  ts          when, ISO 8601 with Z or an offset; required
  type        pageview (default) or event
  path, url   one of them is required for a page view; UTM and click ids are read from the url's query
  referrer    the address that the visitor came from
  country     a code of two letters, such as DE; without one, the country of ip
  visitor     your own name for the visitor, or else
  ip, user_agent   from which the visitor is worked out; neither is stored
  name, props      of an event: its name, and an object of properties
Lines of 'waymark export' also have an id, a channel and what else was worked out; those are taken as they are.

A file that is imported twice counts once, identical lines inside one file are separate events, and an import that was
stopped goes on when it is run again. The exit code is 0 also when some lines were rejected, and 1 when all of them were.

Examples:
  $ waymark import --site ID --file visits.ndjson --drop-bots
  $ zcat visits.ndjson.gz | waymark import --site ID --file - --json`;

/** `waymark import`. */
export function addImportCommand(program: Command, act: Act): void {
  program
    .command("import")
    .description("record a site's page views and events from a file, one JSON object a line")
    .requiredOption("--site <id>", "the site that they belong to")
    .requiredOption("--file <file>", "the file, or - for standard input")
    .option("--drop-bots", "leave out lines whose user_agent is a bot's")
    .option("--rejects <file>", "write every rejected line's number and problem to this file, as JSON lines")
    .addHelpText("after", help)
    .action(
      act((context, options: ImportCommandOptions) =>
        onDatabase(context, (database) => importFile(context, database, options)),
      ),
    );
}

async function importFile(
  context: CommandContext,
  { pool }: CommandDatabase,
  options: ImportCommandOptions,
): Promise<Outcome> {
  const site = await findSite(pool, options.site);
  const input = await openImportInput(options.file, context.stdin);
  const signal = context.catchInterrupts();
  const { countryOf } = await openCountries(context.env["COUNTRY_DATABASE"]);
  const rejections = await openRejectionReport(options.rejects);
  if (options.file === "-" && context.stdin.isTTY) context.stderr.write("Reading from the terminal; Ctrl-D ends it.\n");
  const display = showProgress(context.stderr, input.totalBytes);
  let last: Readonly<ImportProgress> = { lines: 0, bytes: 0, imported: 0, rejected: 0, duplicates: 0, bots: 0 };
  let isComplete = false;
  try {
    await importEvents({
      pool,
      site,
      input: input.bytes,
      countryOf,
      dropBots: options.dropBots === true,
      signal,
      onReject: rejections.add,
      onProgress: (progress) => {
        last = progress;
        display.update(progress);
      },
    });
    isComplete = true;
  } catch (error) {
    if (error instanceof ImportSuspendedError) throw new CommandError(error.message, { cause: error });
    if (!signal.aborted) throw error;
  } finally {
    display.close();
    await rejections.finish(context.stderr);
  }
  return present(context, last, isComplete, options.dropBots === true);
}

/** The collector's database: the one of the variable, or else the one that comes with Waymark. */
async function openCountries(file: string | undefined) {
  try {
    return await openCountryDirectory(file || undefined);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
    throw new CommandError(`COUNTRY_DATABASE names a file that cannot be read (${reason}).`, { cause: error });
  }
}

function present(
  context: CommandContext,
  progress: Readonly<ImportProgress>,
  isComplete: boolean,
  showBots: boolean,
): Outcome {
  const { imported, rejected, duplicates, bots } = progress;
  const value = { imported, rejected, duplicates, ...(showBots && { bots }) };
  const counts = [
    `${number(imported)} imported`,
    `${number(rejected)} rejected`,
    `${number(duplicates)} there already`,
    ...(showBots ? [`${number(bots)} of bots left out`] : []),
  ].join(", ");
  const isAllRejected = rejected > 0 && imported + duplicates + bots === 0;
  if (isComplete && isAllRejected) context.stderr.write("Every line was rejected, so nothing was imported.\n");
  if (isComplete) return { value, text: `Done: ${counts}.`, exitCode: isAllRejected ? failedExitCode : 0 };
  context.stderr.write("Stopped. What was imported stays; run the same command again to go on.\n");
  return { value, text: `Until then: ${counts}.`, exitCode: interruptedExitCode };
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
