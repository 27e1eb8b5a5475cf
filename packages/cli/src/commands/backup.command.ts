import { createReadStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { restoreBackup, writeBackup } from "@waymark/database";
import type { Command } from "commander";
import {
  type Act,
  type CommandContext,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  prepareDatabase,
  untilInterrupted,
} from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { findFile } from "../imports/import-input.js";
import { findDatabase } from "../local-system.js";
import { openOutput } from "../output/open-output.js";
import { showStatus } from "../output/progress.js";
import { inWords } from "../output/terminal-text.js";

interface FileOptions {
  file: string;
}

const backupHelp = `
The file has all data of one moment: accounts, keys as hashes, traces, events and statistics. The services keep running.
Whoever reads it reads your customers' data; it is written for your user alone. Left out are the queue's jobs, which the
worker makes again, and the salts of visitor hashes: after a restore, the present day's visitors count again.

Examples:
  $ waymark backup --file waymark.backup
  $ waymark backup | ssh elsewhere 'cat > waymark.backup'`;

const restoreHelp = `
The database must have no accounts, and may be of another version of Postgres. A failure leaves it empty. A backup of an
earlier version of Waymark is brought to this one. Restore before you start the services; the local system starts empty
with WAYMARK_DATA_DIR=NEW_FOLDER and --no-demo.

Examples:
  $ DATABASE_URL=postgres://owner:password@host/empty waymark restore --file waymark.backup
  $ ssh elsewhere cat waymark.backup | waymark restore --file -`;

/** `waymark backup` and `waymark restore`. */
export function addBackupCommands(program: Command, act: Act): void {
  program
    .command("backup")
    .description("write all data of the database into a file")
    .option("--file <file>", "the file to write or replace, or - for standard output", "-")
    .addHelpText("after", backupHelp)
    .action(act((context, { file }: FileOptions) => backUp(context, file)));
  program
    .command("restore")
    .description("read a backup into an empty database")
    .requiredOption("--file <file>", "the backup, or - for standard input")
    .addHelpText("after", restoreHelp)
    .action(act((context, { file }: FileOptions) => restore(context, file)));
}

async function backUp(context: CommandContext, file: string): Promise<Outcome> {
  const { url } = await findDatabase(context.env);
  const isStandardOutput = file === "-";
  if (isStandardOutput && context.stdout.isTTY) {
    throw new CommandError(
      "A backup is no text for a terminal. Give --file, or send the output into a file or program.",
    );
  }
  const display = showStatus(context.stderr);
  const part = `${file}.part`;
  let rows = 0;
  const isComplete = await onDatabase(context, async () => {
    const output = isStandardOutput ? context.stdout : await openOutput(part);
    return untilInterrupted(context, display, async (signal) => {
      const onProgress = (at: { table: string; rows: number }) =>
        display.update(`Saving ${at.table}: ${inWords(at.rows, "row")}`);
      ({ rows } = await writeBackup(url, output, { onProgress, signal }));
    });
  }).catch(async (error) => {
    if (!isStandardOutput) await rm(part, { force: true });
    throw error;
  });
  if (!isComplete) {
    if (!isStandardOutput) await rm(part, { force: true });
    context.stderr.write("Stopped; there is no backup.\n");
    return { exitCode: interruptedExitCode };
  }
  // Standard output belongs to the backup.
  if (isStandardOutput) return {};
  await rename(part, file);
  return { value: { rows, file }, text: `Done: ${inWords(rows, "row")} saved in ${file}.` };
}

async function restore(context: CommandContext, file: string): Promise<Outcome> {
  const { url } = await findDatabase(context.env);
  if (file !== "-") await findFile(file);
  const display = showStatus(context.stderr);
  let rows = 0;
  const isComplete = await onDatabase(context, () =>
    untilInterrupted(context, display, async (signal) => {
      const input = file === "-" ? context.stdin : createReadStream(file);
      const onProgress = ({ table }: { table: string }) => display.update(`Restoring ${table}`);
      ({ rows } = await restoreBackup(url, input, { onProgress, signal }));
      display.update("Bringing the tables to this version");
      await prepareDatabase(url, undefined);
    }),
  );
  if (!isComplete) {
    context.stderr.write("Stopped; the database is empty.\n");
    return { exitCode: interruptedExitCode };
  }
  return { value: { rows }, text: `Done: ${inWords(rows, "row")} restored.` };
}
