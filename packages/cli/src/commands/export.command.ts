import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { findSite } from "@waymark/accounts";
import { exportEvents } from "@waymark/analytics";
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
import { showProgress } from "../import-progress.js";

interface ExportCommandOptions {
  site: string;
  file: string;
}

const help = `
A line is a JSON object as 'waymark import' takes it. Imported into another site it gives the same figures; into the same
site, nothing new. Visitors are numbers that mean nothing outside of their day; addresses and browsers are not stored.

Examples:
  $ waymark export --site ID --file visits.ndjson
  $ waymark export --site ID | gzip > visits.ndjson.gz`;

/** `waymark export`. */
export function addExportCommand(program: Command, act: Act): void {
  program
    .command("export")
    .description("write a site's page views and events, one JSON object a line, oldest first")
    .requiredOption("--site <id>", "the site")
    .option("--file <file>", "where to, or - for standard output; a file that exists is replaced", "-")
    .addHelpText("after", help)
    .action(
      act((context, options: ExportCommandOptions) =>
        onDatabase(context, (database) => exportSite(context, database, options)),
      ),
    );
}

async function exportSite(
  context: CommandContext,
  { pool }: CommandDatabase,
  { site, file }: ExportCommandOptions,
): Promise<Outcome> {
  const { id } = await findSite(pool, site);
  const signal = context.catchInterrupts();
  const isStandardOutput = file === "-";
  const output = isStandardOutput ? context.stdout : await openFile(file);
  const display = showProgress(isStandardOutput ? context.stdout : context.stderr, undefined, "Exporting");
  let exported = 0;
  let bytes = 0;
  try {
    for await (const { events, text } of exportEvents(pool, id)) {
      if (signal.aborted) break;
      if (!output.write(text)) await once(output, "drain", { signal });
      exported += events;
      bytes += text.length;
      display.update({ lines: exported, bytes });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    display.close();
  }
  if (!isStandardOutput) await new Promise<void>((resolve) => output.end(() => resolve()));
  const done = `${exported.toLocaleString("en-US")} events exported`;
  if (signal.aborted) context.stderr.write(`Stopped after ${done}; the rest is missing.\n`);
  const exitCode = signal.aborted ? interruptedExitCode : 0;
  // Standard output belongs to the events.
  return isStandardOutput ? { exitCode } : { value: { exported, file }, text: `Done: ${done} to ${file}.`, exitCode };
}

async function openFile(file: string): Promise<Writable> {
  const stream = createWriteStream(file, { mode: 0o600 });
  try {
    await once(stream, "open");
    return stream;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`The file '${file}' cannot be written (${code}).`, { cause: error });
  }
}
