import { once } from "node:events";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type pg from "pg";
import { type CopyStreamQuery, from as copyFrom } from "pg-copy-streams";
import { migrate, readMigrationNames, squashNames, squashRefusal } from "../migrate.js";
import { inTransaction, withClient } from "../transaction.js";
import { BackupError, type BackupHeader, backupSession } from "./backup-format.js";
import { recordBackup } from "./backup-record.query.js";
import { type BackupPart, readBackup } from "./read-backup.js";
import type { TableSum } from "./row-sum.js";
import { ensurePartitions, findTables } from "./tables.query.js";

interface RestoreOptions {
  onProgress(progress: { table: string }): void;
  signal: AbortSignal;
}

/**
 * Restores a backup into a database without accounts: its migrations, then all rows in one transaction. Later migrations
 * are the caller's. @returns what each table got. @throws BackupError with a sentence; MigrationError as `migrate`
 */
export async function restoreBackup(
  url: string,
  input: Readable,
  options: RestoreOptions,
): Promise<{ rows: number; tables: readonly TableSum[]; header: BackupHeader }> {
  const { header, parts } = await readBackup(input);
  return withClient(url, "restore", async (client) => {
    await prepare(url, client, header);
    const tables = await inTransaction(client, async () => {
      await client.query(backupSession);
      const restored = await copyTables(client, parts, options);
      await refuseMissing(client, restored);
      if (header.at) await recordBackup(client, { at: header.at });
      return restored;
    }).catch(explainRefusal);
    await client.query("ANALYZE");
    return { rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables, header };
  }).finally(() => input.destroy());
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

interface Copy {
  stream: CopyStreamQuery;
  done: Promise<void>;
}

async function copyTables(client: pg.Client, parts: AsyncIterable<BackupPart>, options: RestoreOptions) {
  const tables: TableSum[] = [];
  let copy: Copy | undefined;
  try {
    for await (const part of parts) {
      options.signal.throwIfAborted();
      if (part.kind === "copy") {
        options.onProgress(part);
        copy = await beginCopy(client, part);
      } else if (part.kind === "setval") await client.query(part.sql);
      else if (part.kind === "sum") {
        copy?.stream.end();
        await copy?.done;
        tables.push(part.sum);
      } else if (copy && !copy.stream.write(part.text)) await Promise.race([once(copy.stream, "drain"), copy.done]);
    }
  } catch (error) {
    // A copy that is still open would keep the connection from rolling back.
    copy?.stream.destroy();
    throw error;
  }
  return tables;
}

async function beginCopy(client: pg.Client, { table, sql }: { table: string; sql: string }): Promise<Copy> {
  // Migrations put rows into some tables.
  await client.query(`DELETE FROM "${table}"`);
  const stream = client.query(copyFrom(sql));
  const done = finished(stream);
  done.catch(() => undefined);
  return { stream, done };
}

async function refuseMissing(client: pg.Client, restored: readonly TableSum[]): Promise<void> {
  const there = new Set(restored.map(({ table }) => table));
  const missing = (await findTables(client)).filter(({ table }) => !there.has(table)).map(({ table }) => table);
  if (missing.length > 0) throw new BackupError(`This backup is broken: it has no table ${missing.join(", ")}.`);
}

/** Errors in data and names of tables, by SQLSTATE, are the file's. */
function explainRefusal(error: unknown): never {
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code === "string" && /^(22|23|42)...$/.test(code)) {
    throw new BackupError(`This backup is broken: ${message}.`, { cause: error });
  }
  throw error;
}
