import { createReadStream } from "node:fs";
import type pg from "pg";
import { migrate } from "../migrate.js";
import { withClient } from "../transaction.js";
import { BackupError } from "./backup-format.js";
import { restoreBackup } from "./restore-backup.js";
import type { TableSum } from "./row-sum.js";
import { type BackupOptions, sumTables } from "./write-backup.js";

export interface VerifiedTable {
  table: string;
  rows: number;
  /** What differs between the file and the restored table. */
  problem?: string;
}

interface Verified {
  at: string | undefined;
  migrations: { ofFile: number; later: number };
  tables: readonly VerifiedTable[];
}

/**
 * Restores a file into a scratch database of the server, reads that again and compares it with the file, then brings it to this
 * version. The scratch database is gone afterwards. @throws BackupError with a sentence; MigrationError as `migrate`
 */
export function verifyBackup(url: string, file: string, { onProgress, signal }: BackupOptions): Promise<Verified> {
  return onScratch(url, async (scratch) => {
    const onTable = ({ table }: { table: string }) => onProgress({ table, rows: 0 });
    const { header, tables } = await restoreBackup(scratch, createReadStream(file), { onProgress: onTable, signal });
    const there = await sumTables(scratch, { onProgress, signal });
    const later = await migrate(scratch);
    const migrations = { ofFile: header.migrations.length, later: later.length };
    return { at: header.at, migrations, tables: compareSums(tables, there) };
  });
}

export function compareSums(file: readonly TableSum[], there: readonly TableSum[]): VerifiedTable[] {
  const found = new Map(there.map((sum) => [sum.table, sum]));
  return file.map(({ table, rows, digest }) => {
    const restored = found.get(table);
    if (!restored) return { table, rows, problem: "it is not in the restored database" };
    if (restored.rows !== rows) return { table, rows, problem: `the restored table has ${restored.rows}` };
    return digest === restored.digest ? { table, rows } : { table, rows, problem: "restored rows differ" };
  });
}

const scratchMark = "A scratch database of 'waymark backup verify'";

async function onScratch<Result>(url: string, work: (url: string) => Promise<Result>): Promise<Result> {
  return withClient(url, "verify", async (client) => {
    const { rows } = await client.query<{ locked: boolean; name: string }>(
      "SELECT pg_try_advisory_lock(hashtext('waymark backup verify')) AS locked, left(current_database(), 50) || '_verify' AS name",
    );
    const { locked, name } = rows[0] ?? { locked: false, name: "" };
    if (!locked) throw new BackupError("Another backup is being verified on this server. Wait for its end.");
    const database = client.escapeIdentifier(name);
    await makeScratch(client, name);
    const scratch = new URL(url);
    scratch.pathname = `/${encodeURIComponent(name)}`;
    try {
      return await work(scratch.href);
    } finally {
      await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    }
  });
}

/** The lock is held, so a marked database is what a killed run left. */
async function makeScratch(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ mark: string | null }>(
    "SELECT shobj_description(oid, 'pg_database') AS mark FROM pg_database WHERE datname = $1",
    [name],
  );
  const database = client.escapeIdentifier(name);
  if (rows[0] && rows[0].mark !== scratchMark)
    throw new BackupError(
      `The server has a database ${name} already. Drop it, or name another server by --database-url.`,
    );
  await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await client
    .query(`CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`)
    .catch((error: { code?: unknown }) => {
      // SQLSTATE 42501, insufficient_privilege.
      if (error.code !== "42501") throw error;
      throw new BackupError("This user may make no database. Let it (ALTER ROLE … CREATEDB), or give --database-url.");
    });
  await client.query(`COMMENT ON DATABASE ${database} IS '${scratchMark.replaceAll("'", "''")}'`);
}
