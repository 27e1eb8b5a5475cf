import { once } from "node:events";
import { exportEvents } from "@waymark/web-stats/analytics";
import { resolveSite } from "../arguments/resolve-owner.js";
import type { TopCommand } from "../context/command-builder.js";
import {
  type CommandContext,
  type CommandDatabase,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  untilInterrupted,
} from "../context/command-context.js";
import { openOutput } from "../output/open-output.js";
import { showProgress } from "../output/progress.js";
import { formatCount } from "../output/terminal-text.js";

const help = `
Each line is a JSON object for 'waymark import'. Another site that imports the lines gets the same figures; the same site
gets nothing new. Visitors are numbers that mean nothing beyond their day. Waymark stores no addresses and no user agents.

Examples:
  $ waymark export --site example.com --file visits.ndjson
  $ waymark export --site example.com | gzip > visits.ndjson.gz`;

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .required("--site <site>", "the site's id or domain")
    .option("--file <file>", "the file to write or replace, or - for standard output", { default: "-" })
    .run((context, options) => onDatabase(context, (database) => exportSite(context, database, options)));
}

async function exportSite(
  context: CommandContext,
  { pool }: CommandDatabase,
  { site, file }: { site: string; file: string },
): Promise<Outcome> {
  const { id } = await resolveSite(pool, site);
  const isStandardOutput = file === "-";
  const output = isStandardOutput ? context.stdout : await openOutput(file);
  const display = showProgress(isStandardOutput ? context.stdout : context.stderr, "Exporting");
  let exported = 0;
  let bytes = 0;
  const { isComplete } = await untilInterrupted(context, display, async (signal) => {
    for await (const { events, text } of exportEvents(pool, id)) {
      if (signal.aborted) break;
      if (!output.write(text)) await once(output, "drain", { signal });
      exported += events;
      bytes += text.length;
      display.update({ lines: exported, bytes });
    }
  });
  if (!isStandardOutput) await new Promise<void>((resolve) => output.end(() => resolve()));
  const done = `${formatCount(exported)} events exported`;
  if (!isComplete) context.stderr.write(`Stopped after ${done}; the rest is missing.\n`);
  const exitCode = isComplete ? 0 : interruptedExitCode;
  // Standard output belongs to the events.
  return isStandardOutput ? { exitCode } : { value: { exported, file }, text: `Done: ${done} to ${file}.`, exitCode };
}
