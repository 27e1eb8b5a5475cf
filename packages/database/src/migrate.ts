import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

/** Where the repository keeps its migrations, seen from this file in `src/` or `dist/`. */
export const migrationsFolder = fileURLToPath(new URL("../../../prisma/migrations/", import.meta.url));

/** The advisory lock that Prisma's own engine takes, so that both never migrate at once. */
const prismaLockKey = 72_707_369;

/** Prisma's table, column for column, so that `prisma migrate deploy` reads what we wrote and the other way round. */
const createMigrationsTable = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id varchar(36) PRIMARY KEY NOT NULL,
    checksum varchar(64) NOT NULL,
    finished_at timestamptz,
    migration_name varchar(255) NOT NULL,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now(),
    applied_steps_count integer NOT NULL DEFAULT 0
  )`;

interface Migration {
  name: string;
  sql: string;
  /** SHA-256 of the file, in hex. */
  checksum: string;
}

interface AppliedRow {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
}

/** Migrations and database disagree in a way that a person has to settle. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

/**
 * Applies the migrations that the database lacks, in the order of their names, each in a transaction of its own. Safe
 * when several instances start at once: one applies, the others wait and then find nothing to do.
 * @returns the names of the migrations applied
 * @throws MigrationError when an applied migration was changed since, is missing here, or was left unfinished
 */
export async function migrate(connectionString: string, folder: string = migrationsFolder): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const client = new pg.Client({ connectionString, application_name: "waymark migrate" });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [prismaLockKey]);
    await client.query(createMigrationsTable);
    const pending = await findPending(client, migrations);
    for (const migration of pending) await apply(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    await client.end();
  }
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const file = await readFile(`${folder}/${name}/migration.sql`);
      return { name, sql: file.toString("utf8"), checksum: createHash("sha256").update(file).digest("hex") };
    }),
  );
}

async function findPending(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<AppliedRow>(
    "SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL",
  );
  for (const row of rows) {
    if (row.finished_at === null) {
      throw new MigrationError(
        `Migration ${row.migration_name} was started and not finished. Look at its logs in _prisma_migrations, repair the database, then set finished_at or rolled_back_at of that row.`,
      );
    }
    const known = migrations.find((migration) => migration.name === row.migration_name);
    if (!known) {
      throw new MigrationError(
        `The database has migration ${row.migration_name}, which this version does not know. Run a newer version.`,
      );
    }
    if (known.checksum !== row.checksum) {
      throw new MigrationError(
        `Migration ${row.migration_name} was changed after it was applied. Restore its file; put the change into a new migration.`,
      );
    }
  }
  const applied = new Set(rows.map((row) => row.migration_name));
  return migrations.filter((migration) => !applied.has(migration.name));
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(migration.sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
       VALUES ($1, $2, clock_timestamp(), $3, now(), 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`Migration ${migration.name} failed and was rolled back: ${reason}`, { cause: error });
  }
}
