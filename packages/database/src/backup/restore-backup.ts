import { once } from "node:events";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type pg from "pg";
import { type CopyStreamQuery, from as copyFrom } from "pg-copy-streams";
import { migrate, readMigrationNames, squashNames, squashRefusal } from "../migrate.js";
import { inTransaction, withClient } from "../transaction.js";
import { BackupError, type BackupHeader, backupSession, copyEnd, readLine, readStart } from "./backup-format.js";
import { ensurePartitions } from "./tables.query.js";

interface RestoreOptions {
  onProgress(progress: { table: string }): void;
  signal: AbortSignal;
}

/**
 * Restores a backup into a database without accounts: its migrations, then all rows in one transaction. Later migrations
 * are the caller's. @throws BackupError with a sentence; MigrationError as `migrate`
 */
export async function restoreBackup(url: string, input: Readable, options: RestoreOptions): Promise<{ rows: number }> {
  const text = input.pipe(createGunzip());
  input.once("error", (error) => text.destroy(error));
  const pieces = readWholeLines(text);
  const first = await pieces.next().catch(explainGzip);
  const { line, rest } = firstLine(first.value ?? Buffer.alloc(0));
  const header = readStart(line);
  return withClient(url, "restore", async (client) => {
    await prepare(url, client, header);
    const restored = await inTransaction(client, async () => {
      await client.query(backupSession);
      const restore = new Restore(client, options);
      await restore.take(rest);
      for await (const piece of pieces) await restore.take(piece);
      return restore.finish();
    }).catch(explainGzip);
    await client.query("ANALYZE");
    return restored;
  }).finally(() => text.destroy());
}

async function prepare(url: string, client: pg.Client, { months, weeks = [], ...header }: BackupHeader): Promise<void> {
  const migrations = squashNames(header.migrations, await readMigrationNames());
  if (!migrations) throw new BackupError(`The backup's database ${squashRefusal}`);
  const { rows: existing } = await client.query<{ migrated: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS migrated",
  );
  if (existing[0]?.migrated) {
    const { rows } = await client.query<{ name: string }>(
      "SELECT migration_name AS name FROM _prisma_migrations WHERE rolled_back_at IS NULL AND NOT migration_name = ANY ($1)",
      [migrations],
    );
    if (rows[0]) {
      throw new BackupError(
        `The database is newer than the backup: it has the migration ${rows[0].name}. Restore into an empty database.`,
      );
    }
  }
  await migrate(url, { only: migrations });
  const { rows: accounts } = await client.query("SELECT FROM account LIMIT 1");
  if (accounts.length > 0) {
    throw new BackupError("The database has accounts already. Restore into an empty database.");
  }
  await ensurePartitions(client, { months, weeks });
}

class Restore {
  private rows = 0;
  private copy: { stream: CopyStreamQuery; done: Promise<void> } | undefined;
  private copied: number | undefined;
  private isComplete = false;

  constructor(
    private readonly client: pg.Client,
    private readonly options: RestoreOptions,
  ) {}

  async take(piece: Buffer): Promise<void> {
    this.options.signal.throwIfAborted();
    let rest = piece;
    while (rest.length > 0) rest = this.copy ? await this.takeRows(this.copy, rest) : await this.takeLine(rest);
  }

  finish(): { rows: number } {
    if (!this.isComplete) throw new BackupError("This backup is broken: its end is missing.");
    return { rows: this.rows };
  }

  private async takeRows({ stream, done }: NonNullable<Restore["copy"]>, piece: Buffer): Promise<Buffer> {
    const end = findCopyEnd(piece);
    const rows = end === undefined ? piece : piece.subarray(0, end);
    if (rows.length > 0 && !stream.write(rows)) await Promise.race([once(stream, "drain"), done]);
    if (end === undefined) return Buffer.alloc(0);
    stream.end();
    await done;
    this.copied = stream.rowCount;
    this.copy = undefined;
    return piece.subarray(end + copyEnd.length);
  }

  private async takeLine(piece: Buffer): Promise<Buffer> {
    const { line, rest } = firstLine(piece);
    const read = readLine(line);
    if (read === "end") this.isComplete = true;
    else if ("setval" in read) await this.client.query(read.setval);
    else if ("sql" in read) {
      this.options.onProgress(read);
      // Migrations put rows into some tables.
      await this.client.query(`DELETE FROM "${read.table}"`);
      const stream = this.client.query(copyFrom(read.sql));
      const done = finished(stream);
      done.catch(() => undefined);
      this.copy = { stream, done };
    } else {
      if (read.rows !== this.copied) throw new BackupError("This backup is broken: rows are missing.");
      this.rows += read.rows;
    }
    return rest;
  }
}

function firstLine(piece: Buffer): { line: string; rest: Buffer } {
  const end = piece.indexOf("\n") + 1;
  return { line: piece.subarray(0, end).toString(), rest: piece.subarray(end) };
}

function findCopyEnd(piece: Buffer): number | undefined {
  if (piece.subarray(0, copyEnd.length).equals(Buffer.from(copyEnd))) return 0;
  const before = piece.indexOf(`\n${copyEnd}`);
  return before < 0 ? undefined : before + 1;
}

/** Errors of zlib have codes such as `Z_DATA_ERROR`. */
function explainGzip(error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string" && code.startsWith("Z_")) {
    throw new BackupError("This file is no backup of Waymark, or a part of it is missing.", { cause: error });
  }
  throw error;
}

const maxLineBytes = 512 * 1_048_576;

const newline = 10;

async function* readWholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      restBytes = 0;
    }
    if (end === chunk.length) continue;
    rest.push(chunk.subarray(end));
    restBytes += chunk.length - end;
    if (restBytes > maxLineBytes) throw new BackupError("This backup is broken: a line is too long.");
  }
  if (restBytes > 0) throw new BackupError("This backup is broken: it ends within a line.");
}
