import { createReadStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { recordBackup, restoreBackup, verifyBackup, withConnection, writeBackup } from "@waymark/database";
import type pg from "pg";
import { wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
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
import { backupName, listBackups, removeLeftovers, removeOld, settle } from "../output/backup-folder.js";
import { openOutput } from "../output/open-output.js";
import { inWords } from "../output/terminal-text.js";

const backupHelp = `
The file has all data of one moment: accounts, keys as hashes, traces, events and statistics. The services keep running.
Whoever reads it reads your customers' data; it is written for your user alone. Left out are the queue's jobs, which the
worker makes again, and the salts of visitor hashes: after a restore, the present day's visitors count again.

--into is for timers: each run writes a file named by the UTC time, and --keep removes the oldest ones. Give each database a
folder of its own. A finished file is recorded in the database, for 'waymark doctor --operator' and the metric
waymark_backup_age_seconds; after an upload or another tool's backup, 'waymark backup record' does it.

Examples:
  $ waymark backup --into /var/backups/waymark --keep 14
  $ waymark backup --file waymark.backup
  $ waymark backup | ssh elsewhere 'cat > waymark.backup' && waymark backup record
  $ waymark backup verify /var/backups/waymark`;

const verifyHelp = `
It restores the file, or a folder's newest, into a scratch database beside DATABASE_URL's, reads that again and compares it
with the file, brings it to this version and drops it. The user needs the right to make databases, the disk room for them all
once more. --database-url takes another server, and the database of yours there from which it connects.

Exit codes: 0 when every table is as it was, 1 when one differs or the file is broken.`;

const restoreHelp = `
The database must have no accounts, and may be of another version of Postgres. A failure leaves it empty. A backup of an
earlier version of Waymark is brought to this one. Restore before you start the services; the local system starts empty
with WAYMARK_DATA_DIR=NEW_FOLDER and --no-demo.

Examples:
  $ DATABASE_URL=postgres://owner:password@host/empty waymark restore --file waymark.backup
  $ ssh elsewhere cat waymark.backup | waymark restore --file -`;

export function declareCommand(command: TopCommand): void {
  const backup = command
    .help(backupHelp)
    .option("--file <file>", "the file to write or replace, or - for standard output", { shownDefault: "-" })
    .option("--into <folder>", "a folder that gets a file named by the time", { conflicts: "file" })
    .option("--keep <number>", "with --into: how many files stay, the newest ones", { parse: wholeNumber(1, 10_000) })
    .option("--unrecorded", "leave the record to 'waymark backup record'")
    .check(({ into, keep }) => keep !== undefined && into === undefined && "--keep needs --into.");
  backup.run((context, { file = "-", into, keep, unrecorded }) =>
    into === undefined ? backUp(context, file, unrecorded) : backUpInto(context, into, keep, unrecorded),
  );
  backup
    .command("verify", "restore a backup into a scratch database and compare every table", verifyHelp)
    .argument("<path>", "the backup, or a folder of --into with it")
    .option("--database-url <url>", "where to restore, instead of beside DATABASE_URL's")
    .run(verify);
  backup
    .command("record", "tell the database that another tool has just made a backup, or an upload has ended")
    .run((context) =>
      onDatabase(context, async ({ pool }) => {
        await record(context, pool, "now");
        return { value: {}, text: "Recorded." };
      }),
    );
}

export function declareRestore(command: TopCommand): void {
  command.help(restoreHelp).required("--file <file>", "the backup, or - for standard input").run(restore);
}

interface Written {
  rows: number;
  at: string;
}

async function backUp(context: CommandContext, file: string, unrecorded?: true): Promise<Outcome> {
  if (file !== "-") {
    return onDatabase(context, async ({ pool }) => {
      const written = await writePart(context, `${file}.part`);
      if (!written) return stopped(context);
      await rename(`${file}.part`, file);
      if (!unrecorded) await record(context, pool, written.at);
      return saved({ ...written, file });
    });
  }
  if (context.stdout.isTTY)
    throw new CommandError(
      "A backup is no text for a terminal. Give --file, or send the output into a file or program.",
    );
  // Standard output belongs to the backup, and nobody knows whether its reader keeps it: that is not recorded.
  const { isComplete } = await onDatabase(context, () => write(context, async () => context.stdout));
  return isComplete ? {} : stopped(context);
}

function backUpInto(context: CommandContext, folder: string, keep?: number, unrecorded?: true): Promise<Outcome> {
  return onDatabase(context, ({ pool }) =>
    withConnection(pool, async (client) => {
      const { rows } = await client.query<{ locked: boolean }>(
        "SELECT pg_try_advisory_lock(hashtext('waymark backup --into')) AS locked",
      );
      if (!rows[0]?.locked) throw new CommandError("Another backup of this database is being written.");
      await removeLeftovers(folder);
      const name = backupName(context.now());
      const part = join(folder, `${name}.part`);
      const written = await writePart(context, part);
      if (!written) return stopped(context);
      await settle(part, folder, name);
      if (!unrecorded) await record(context, client, written.at);
      const removed = keep === undefined ? [] : await removeOld(folder, keep, name);
      await client.query("SELECT pg_advisory_unlock_all()");
      return saved({ ...written, file: join(folder, name), removed });
    }),
  );
}

/** Writes a file and closes it on the disk; without an end, by an error or Ctrl-C, it leaves none. */
async function writePart(context: CommandContext, part: string): Promise<Written | undefined> {
  let written: Written | undefined;
  try {
    const { isComplete, result } = await write(context, () => openOutput(part));
    if (isComplete) written = result;
    return written;
  } finally {
    if (!written) await rm(part, { force: true });
  }
}

async function write(context: CommandContext, openFile: () => Promise<Writable>) {
  const { url } = await findDatabase(context.env);
  return withStatus(context, async (say, signal) => {
    const onProgress = (at: { table: string; rows: number }) => say(`Saving ${at.table}: ${inWords(at.rows, "row")}`);
    return writeBackup(url, await openFile(), { onProgress, signal });
  });
}

function stopped(context: CommandContext): Outcome {
  context.stderr.write("Stopped; there is no backup.\n");
  return { exitCode: interruptedExitCode };
}

function saved({ at, rows, file, removed = [] }: Written & { file: string; removed?: readonly string[] }): Outcome {
  const text = `Done: ${inWords(rows, "row")} saved in ${file}.`;
  const also = removed.length > 0 ? ` ${inWords(removed.length, "older file")} removed.` : "";
  return { value: { rows, at, file, removed }, text: `${text}${also}` };
}

/** A backup is whole without its record; a standby and an older schema have none. */
async function record(context: CommandContext, client: Pick<pg.ClientBase, "query">, at: string): Promise<void> {
  if (await recordBackup(client, { at })) return;
  context.stderr.write("Not recorded: the database is a standby, or older than this release.\n");
}

async function verify(
  context: CommandContext,
  path: string,
  { databaseUrl }: { databaseUrl?: string },
): Promise<Outcome> {
  const file = await findBackup(path);
  const env =
    databaseUrl === undefined
      ? context.env
      : { ...context.env, DATABASE_URL: databaseUrl, DIRECT_DATABASE_URL: databaseUrl };
  const { url } = await findDatabase(env);
  const on = { ...context, env };
  const { isComplete, result } = await onDatabase(on, ({ pool }) =>
    withStatus(context, async (say, signal) => {
      const onProgress = ({ table, rows }: { table: string; rows: number }) =>
        say(rows === 0 ? `Restoring ${table}` : `Comparing ${table}: ${inWords(rows, "row")}`);
      const verified = await verifyBackup(url, file, { onProgress, signal });
      const ok = verified.tables.every(({ problem }) => problem === undefined);
      if (ok && databaseUrl === undefined) await recordBackup(pool, { verifiedAt: "now" });
      return { ok, file, ...verified };
    }),
  );
  if (!isComplete || !result) {
    context.stderr.write("Stopped; nothing is verified.\n");
    return { exitCode: interruptedExitCode };
  }
  const { ok, tables, migrations, at } = result;
  const lines = tables.map(({ table, rows, problem }) =>
    problem === undefined
      ? `✓ ${table}: ${inWords(rows, "row")}`
      : `✗ ${table}: ${inWords(rows, "row")}, and ${problem}`,
  );
  const schema = `${inWords(migrations.ofFile, "migration")} of the file, ${migrations.later} later ones applied.`;
  const end = ok
    ? `Done: ${file}${at ? ` of ${at}` : ""} restores whole.`
    : `${file} does not restore as it was saved.`;
  return { value: result, text: [...lines, schema, end].join("\n"), exitCode: ok ? 0 : 1 };
}

async function findBackup(path: string): Promise<string> {
  if (!(await stat(path).catch(() => undefined))?.isDirectory()) {
    await findFile(path);
    return path;
  }
  const [newest] = await listBackups(path);
  if (newest) return join(path, newest);
  throw new CommandError(`The folder '${path}' has no file of 'waymark backup --into'.`);
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
