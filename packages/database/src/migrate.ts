import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { newestMigration } from "./generated/newest-migration.js";
import { openSession } from "./pool.js";
import { tableGrants } from "./roles.js";
import { inTransaction, type Queryable, withClient } from "./transaction.js";

/** The path fits this file in `src/` and in `dist/`. */
export const migrationsFolder = fileURLToPath(new URL("../../../prisma/migrations/", import.meta.url));

/** Prisma's engine takes the same advisory lock, so both never migrate at once. */
const prismaLockKey = 72_707_369;

/** Prisma's table, column for column: `prisma migrate deploy` reads our rows, and we read its rows. */
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

const recordMigration = `
  INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, logs, started_at, applied_steps_count)
  VALUES ($1, $2, clock_timestamp(), $3, 'oldest release: ' || $4::text, now(), 1)`;

interface Migration {
  name: string;
  sql: string;
  checksum: string;
  /** Why it should run while few write, from a line `-- quiet hour: …` of its head. */
  quietHour?: string | undefined;
  /** The newest migration of the oldest release that still works after it, from a line `-- oldest release: …`. */
  oldestRelease?: string | undefined;
}

interface AppliedRow {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  logs: string | null;
}

export class MigrationError extends Error {
  override name = "MigrationError";
}

export interface MigrateOptions {
  only?: readonly string[];
  folder?: string;
  /** A migration waits so long for a lock, and all writers of the table behind it; default 2 s. */
  lockTimeoutMs?: number;
  retryAfterMs?: number;
  maxAttempts?: number;
  refusesQuietHour?: boolean;
  say?(line: string): void;
  /** Gets the newest migration of a database that a later release has migrated, and that this one may use. */
  meetNewer?(migration: string): void;
}

export async function readMigrationNames(folder = migrationsFolder): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/**
 * Applies the missing migrations in the order of their names, each in its own transaction. Of several instances one applies
 * them, the others wait. Services may run: a migration without its lock steps back and tries again.
 * @throws MigrationError when a person has to settle a difference, or another session holds a lock too long
 */
export async function migrate(connectionString: string, options: MigrateOptions = {}): Promise<string[]> {
  const { only, folder = migrationsFolder, lockTimeoutMs = 2_000, retryAfterMs = 3_000, maxAttempts = 60 } = options;
  const say = options.say ?? (() => undefined);
  const migrations = await readMigrations(folder);
  return withSession(connectionString, async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [prismaLockKey]);
    await client.query(createMigrationsTable);
    await squash(client, migrations);
    const unknown = only?.find((name) => !migrations.some((migration) => migration.name === name));
    if (unknown) throw new MigrationError(`This version does not know migration ${unknown}. Run a newer version.`);
    const rows = await readApplied(client);
    const newer = findNewer(rows, migrations);
    if (newer) options.meetNewer?.(newer);
    const missing = findPending(rows, migrations);
    const pending = missing.filter(({ name }) => only?.includes(name) ?? true);
    if (missing.length < migrations.length) announceQuietHours(pending, options.refusesQuietHour ?? false, say);
    for (const migration of pending) {
      for (let attempt = 1; ; attempt++) {
        const holders = await applyWithin(client, migration, { connectionString, lockTimeoutMs });
        if (holders === undefined) break;
        if (attempt === maxAttempts) throw new MigrationError(explainLock(migration, attempt, holders));
        say(
          `Migration ${migration.name} stepped back from a lock of ${nameHolders(holders)}; attempt ${attempt + 1} follows.`,
        );
        await sleep(retryAfterMs);
      }
    }
    return pending.map((migration) => migration.name);
  });
}

function withSession<Result>(connectionString: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return withClient(connectionString, "migrate", async (client) => {
    await openSession(client, { statementTimeoutMs: 0 }, 30_000);
    return work(client);
  });
}

async function readMigrations(folder: string): Promise<Migration[]> {
  return Promise.all(
    (await readMigrationNames(folder)).map(async (name) => {
      const file = await readFile(`${folder}/${name}/migration.sql`);
      const sql = file.toString("utf8");
      const checksum = createHash("sha256").update(file).digest("hex");
      const oldestRelease = oldestReleaseLine.exec(sql)?.[1];
      return { name, sql, checksum, quietHour: quietHourLine.exec(sql)?.[1], oldestRelease };
    }),
  );
}

const quietHourLine = /^-- quiet hour: (.+)$/m;
const oldestReleaseLine = /^-- oldest release: (\w+)$/m;

function announceQuietHours(pending: Migration[], isRefused: boolean, say: (line: string) => void): void {
  for (const { name, quietHour } of pending) {
    if (!quietHour) continue;
    const line = `Migration ${name} needs a quiet hour: ${quietHour}`;
    if (isRefused) throw new MigrationError(`${line}\nNothing was changed. Then run: waymark migrate --yes`);
    say(line);
  }
}

async function readApplied(client: pg.Client): Promise<AppliedRow[]> {
  const { rows } = await client.query<AppliedRow>(
    "SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations WHERE rolled_back_at IS NULL",
  );
  const unfinished = rows.find((row) => row.finished_at === null);
  if (!unfinished) return rows;
  throw new MigrationError(
    `Migration ${unfinished.migration_name} was started and not finished. Look at its logs in _prisma_migrations, repair the database, then set finished_at or rolled_back_at of that row.`,
  );
}

/** Puts the record of `init` in place of those of the migrations that it holds, in one statement. Changes no table. */
async function squash(client: pg.Client, [init, ...later]: readonly Migration[]): Promise<void> {
  const rows = await readApplied(client);
  if (!init || !rows.some((row) => row.migration_name === first)) return;
  const held = rows.filter((row) => !later.some(({ name }) => name === row.migration_name));
  const checksums = held.map((row) => row.checksum).sort();
  if (createHash("sha256").update(checksums.join(" ")).digest("hex") !== digest)
    throw new MigrationError(`The database ${squashRefusal}`);
  await client.query(
    `WITH held AS (DELETE FROM _prisma_migrations WHERE migration_name = ANY ($5)) ${recordMigration}`,
    [randomUUID(), init.checksum, init.name, init.oldestRelease, held.map((row) => row.migration_name)],
  );
}

/** The newest of the migrations that a later release applied. @throws MigrationError when one of them ends this release */
function findNewer(rows: readonly AppliedRow[], migrations: readonly Migration[]): string | undefined {
  const release = migrations.at(-1)?.name;
  const newest = findNewest(rows.map((row) => row.migration_name));
  if (!release || newest <= release) return undefined;
  const oldest = findNewest(rows.map((row) => /^oldest release: (\w+)$/.exec(row.logs ?? "")?.[1] ?? ""));
  if (oldest <= release) return newest;
  throw new MigrationError(
    `This database is newer: it has migration ${newest}. This release may not use it, because it ends at ${release}; the oldest release that may has ${oldest}.`,
  );
}

function findNewest(names: readonly string[]): string {
  return [...names].sort().at(-1) ?? "";
}

function findPending(rows: readonly AppliedRow[], migrations: readonly Migration[]): Migration[] {
  const release = migrations.at(-1)?.name ?? "\uffff";
  for (const row of rows) {
    const known = migrations.find((migration) => migration.name === row.migration_name);
    if (!known && row.migration_name > release) continue;
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
  const missing = migrations.filter((migration) => !applied.has(migration.name));
  const newest = findNewest([...applied]);
  const late = missing.find(({ name }) => name < newest);
  if (late) {
    throw new MigrationError(
      `Migration ${late.name} is out of order: the database already has ${newest}, and a new database would apply them the other way round. Rename the new one to the present UTC time, as \`date -u +%Y%m%d%H%M%S\` prints it.`,
    );
  }
  return missing;
}

/** Applies a migration. If it gets no lock in time, it changes nothing and returns the sessions holding the lock. */
async function applyWithin(
  client: pg.Client,
  migration: Migration,
  { connectionString, lockTimeoutMs }: { connectionString: string; lockTimeoutMs: number },
): Promise<readonly string[] | undefined> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  // A waiting session cannot query its blockers.
  return withSession(connectionString, async (observer) => {
    let holders: readonly string[] = [];
    const look = setInterval(async () => {
      const seen = await findHolders(observer, rows[0]?.pid ?? 0).catch(() => []);
      if (seen.length > 0) holders = seen;
    }, lockTimeoutMs / 4);
    try {
      await apply(client, migration, lockTimeoutMs);
      return undefined;
    } catch (error) {
      // SQLSTATE 55P03: lock_not_available.
      if ((error as { code?: unknown }).code === "55P03") return holders;
      const reason = error instanceof Error ? error.message : String(error);
      throw new MigrationError(`Migration ${migration.name} failed and was rolled back: ${reason}`, { cause: error });
    } finally {
      clearInterval(look);
    }
  });
}

async function apply(client: pg.Client, migration: Migration, lockTimeoutMs: number): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(`SET LOCAL lock_timeout = ${Math.ceil(lockTimeoutMs)}`);
    await client.query(migration.sql);
    const { checksum, name, oldestRelease } = migration;
    await client.query(recordMigration, [randomUUID(), checksum, name, oldestRelease]);
  });
}

/** Names the sessions blocking a session: program, process and start. Reads `pg_stat_activity`, so it scans no table. */
async function findHolders(client: pg.Client, waitingPid: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; pid: number; since: string }>(
    `SELECT COALESCE(NULLIF(application_name, ''), 'a program without a name') AS name, pid,
       to_char(COALESCE(xact_start, backend_start) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') AS since
     FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1)) ORDER BY pid`,
    [waitingPid],
  );
  return rows.map(({ name, pid, since }) => `${name} (process ${pid}, since ${since})`);
}

function explainLock(migration: Migration, attempts: number, holders: readonly string[]): string {
  return `Migration ${migration.name} gave up after ${attempts} attempts and changed nothing, because another session holds a lock that it needs: ${nameHolders(holders)}. Wait for its end, or end it with SELECT pg_terminate_backend(PROCESS), and migrate again.`;
}

function nameHolders(holders: readonly string[]): string {
  return holders.length > 0 ? holders.join(", ") : "a session that could not be seen";
}

/** `init` holds this migration and 35 further ones; a database or backup with its name is from before `init`. */
const first = "20261120000000_init";
const squashed = 36;

/** The SHA-256 of their checksums. Their names do not matter: they had two sets of them. */
const digest = "6d61bd450c74b31c0e7334dca66e0701f5303b1724df6587a55454ec8e7c434a";

/** Why a database or backup that has only a part of them is refused; after its subject. */
export const squashRefusal =
  "is older than commit fe2f68b, or one of its migrations was changed. This release holds the migrations up to that commit as one: migrate with commit fe2f68b first, then with this release.";

/** The names with `init` in place of those that it holds; undefined if some of these are missing. */
export function squashNames(names: readonly string[], known: readonly string[]): readonly string[] | undefined {
  if (!names.includes(first)) return names;
  const present = names.filter((name) => known.includes(name));
  return names.length - present.length === squashed ? [...known.slice(0, 1), ...present] : undefined;
}

/** Whether a migration is there, and the oldest release of all. A scan of the migrations, a few dozen. */
const schemaSql = `
  SELECT COALESCE(bool_or(migration_name = $1 AND finished_at IS NOT NULL), false) AS is_migrated,
    max(substring(logs FROM '^oldest release: (\\w+)$') COLLATE "C") AS oldest
  FROM _prisma_migrations WHERE rolled_back_at IS NULL`;

/** Of pairs of tables and privileges those that a role lacks, by the catalogue. Some columns are enough. */
const findLackingSql = `
  SELECT name AS table, privilege FROM unnest($1::text[], $2::text[]) AS needed (name, privilege)
  WHERE NOT COALESCE(CASE privilege
    WHEN 'DELETE' THEN has_table_privilege(COALESCE($3, current_user::text), to_regclass('public.' || name)::oid, privilege)
    ELSE has_any_column_privilege(COALESCE($3, current_user::text), to_regclass('public.' || name)::oid, privilege) END, false)
  LIMIT 1`;

interface Schema {
  is_migrated: boolean;
  oldest: string | null;
}

/**
 * Why a service could not work on a database, with the cure. A newer schema is none, unless it names a later oldest release.
 * @param role the service's role; the session's own if left out
 */
export async function findSchemaProblem(pool: Queryable, service: string, role?: string): Promise<string | undefined> {
  const schema = await pool.query<Schema>(schemaSql, [newestMigration]).catch((error: { code?: unknown }) => {
    // SQLSTATE 42P01, undefined_table, and 42501, insufficient_privilege.
    if (error.code === "42P01") return undefined;
    if (error.code === "42501") return "refused" as const;
    throw error;
  });
  if (!schema) return "the database has no tables: run 'waymark migrate'";
  if (schema === "refused") return lacking("SELECT", "_prisma_migrations");
  const { is_migrated: isMigrated, oldest } = schema.rows[0] ?? {};
  if (oldest && oldest > newestMigration)
    return `the schema is newer than this release may use: run the release with migration ${oldest}, or a later one`;
  if (!isMigrated) return "the schema is older than this release: run its 'waymark migrate'";
  const needed = privilegesOf(service);
  const { rows } = await pool.query<{ table: string; privilege: string }>(findLackingSql, [
    needed.map(({ table }) => table),
    needed.map(({ privilege }) => privilege),
    role,
  ]);
  const [first] = rows;
  return first && lacking(first.privilege, first.table);
}

function lacking(privilege: string, table: string): string {
  return `the role may not ${privilege} on ${table}: run 'waymark migrate' with the roles' passwords, or use the service's role`;
}

function privilegesOf(service: string): { table: string; privilege: string }[] {
  const role = service.replaceAll("-", "_");
  return Object.entries<Partial<Record<string, string>>>(tableGrants).flatMap(([table, grants]) =>
    (grants[role]?.replaceAll(/ \([^)]*\)/g, "").split(", ") ?? []).map((privilege) => ({ table, privilege })),
  );
}
