import { createReadStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { restoreBackup, writeBackup } from "@waymark/database";
import type { Program } from "../context/command-builder.js";
import {
  type CommandContext,
  interruptedExitCode,
  type Outcome,
  onDatabase,
  prepareDatabase,
  withStatus,
} from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { findFile } from "../imports/import-input.js";
import { findDatabase } from "../local-system.js";
import { openOutput } from "../output/open-output.js";
import { inWords } from "../output/terminal-text.js";

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

export function addBackupCommands(program: Program): void {
  program
    .command("backup", "write all data of the database into a file", backupHelp)
    .option("--file <file>", "the file to write or replace, or - for standard output", { default: "-" })
    .run(backUp);
  program
    .command("restore", "read a backup into an empty database", restoreHelp)
    .required("--file <file>", "the backup, or - for standard input")
    .run(restore);
}

async function backUp(context: CommandContext, { file }: { file: string }): Promise<Outcome> {
  const { url } = await findDatabase(context.env);
  const isStandardOutput = file === "-";
  if (isStandardOutput && context.stdout.isTTY) {
    throw new CommandError(
      "A backup is no text for a terminal. Give --file, or send the output into a file or program.",
    );
  }
  const part = `${file}.part`;
  let rows: number | undefined;
  try {
    const { isComplete, result } = await onDatabase(context, async () => {
      const output = isStandardOutput ? context.stdout : await openOutput(part);
      return withStatus(context, (say, signal) => {
        const onProgress = (at: { table: string; rows: number }) =>
          say(`Saving ${at.table}: ${inWords(at.rows, "row")}`);
        return writeBackup(url, output, { onProgress, signal });
      });
    });
    if (isComplete) rows = result?.rows;
  } finally {
    if (rows === undefined && !isStandardOutput) await rm(part, { force: true });
  }
  if (rows === undefined) {
    context.stderr.write("Stopped; there is no backup.\n");
    return { exitCode: interruptedExitCode };
  }
  // Standard output belongs to the backup.
  if (isStandardOutput) return {};
  await rename(part, file);
  return { value: { rows, file }, text: `Done: ${inWords(rows, "row")} saved in ${file}.` };
}

async function restore(context: CommandContext, { file }: { file: string }): Promise<Outcome> {
  const { url } = await findDatabase(context.env);
  if (file !== "-") await findFile(file);
  const { isComplete, result: rows = 0 } = await onDatabase(context, () =>
    withStatus(context, async (say, signal) => {
      const input = file === "-" ? context.stdin : createReadStream(file);
      const onProgress = ({ table }: { table: string }) => say(`Restoring ${table}`);
      const restored = await restoreBackup(url, input, { onProgress, signal });
      say("Bringing the tables to this version");
      await prepareDatabase(url, undefined);
      return restored.rows;
    }),
  );
  if (!isComplete) {
    context.stderr.write("Stopped; the database is empty.\n");
    return { exitCode: interruptedExitCode };
  }
  return { value: { rows }, text: `Done: ${inWords(rows, "row")} restored.` };
}
