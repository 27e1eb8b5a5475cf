import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useEmptyDatabase } from "@waymark/testing";
import pg from "pg";
import { findSchemaProblem, MigrationError, migrate, migrationsFolder, readMigrationNames } from "./migrate.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-migrations-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function writeMigration(name: string, sql: string, inFolder: string) {
  await mkdir(join(inFolder, name), { recursive: true });
  await writeFile(join(inFolder, name, "migration.sql"), sql);
}

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe("migrate, on an empty database", () => {
  const database = useEmptyDatabase();

  it("applies everything once, however many instances start at once", async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate(database.url)));
    const applied = results.flat();
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied.length).toBeGreaterThan(0);
    const rows = await query(database.url, "SELECT * FROM _prisma_migrations");
    expect(rows).toHaveLength(applied.length);
    expect(rows[0]).toMatchObject({ applied_steps_count: 1, rolled_back_at: null, logs: null });
    expect(rows[0].checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(await migrate(database.url)).toEqual([]);
  });

  it("refuses a migration that was changed after it was applied", async () => {
    const changed = join(folder, "changed");
    await cp(migrationsFolder, changed, { recursive: true });
    const [row] = await query(database.url, "SELECT migration_name FROM _prisma_migrations LIMIT 1");
    await writeFile(join(changed, row.migration_name, "migration.sql"), "SELECT 1");
    await expect(migrate(database.url, { folder: changed })).rejects.toThrow(/was changed after it was applied/);
  });

  it("refuses a migration named before one that the database has, since a new database would fail", async () => {
    const late = join(folder, "late");
    await cp(migrationsFolder, late, { recursive: true });
    await writeMigration("20261124061718_late", "SELECT 1", late);
    await expect(migrate(database.url, { folder: late })).rejects.toThrow(
      /20261124061718_late is out of order: the database already has \d{14}_\w+, .*date -u/,
    );
  });

  it("refuses a database that is ahead of this version", async () => {
    await expect(migrate(database.url, { folder: await mkdtemp(join(folder, "none-")) })).rejects.toThrow(
      /does not know/,
    );
  });
});

describe("migrate, when a migration fails", () => {
  const database = useEmptyDatabase();
  let own: string;
  beforeAll(async () => {
    own = await mkdtemp(join(folder, "own-"));
  });

  it("rolls it back whole, and goes on from there once it is repaired", async () => {
    await writeMigration("1_first", "CREATE TABLE first (id int)", own);
    await writeMigration("2_second", "CREATE TABLE second (id int); SELECT 1/0", own);
    await expect(migrate(database.url, { folder: own })).rejects.toThrow(MigrationError);
    const tables = await query(database.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
    expect(tables.map((row) => row.tablename)).toEqual(["_prisma_migrations", "first"]);
    await writeMigration("2_second", "CREATE TABLE second (id int)", own);
    expect(await migrate(database.url, { folder: own })).toEqual(["2_second"]);
  });

  it("refuses to go on over a migration that another tool left unfinished", async () => {
    await query(database.url, "UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '1_first'");
    await expect(migrate(database.url, { folder: own })).rejects.toThrow(/started and not finished/);
  });
});

describe("migrate, while another session holds a lock that it needs", () => {
  const database = useEmptyDatabase();

  it("lets writers through, tries again, and says in the end who holds it; then goes on from there", async () => {
    const own = await mkdtemp(join(folder, "locked-"));
    await writeMigration("1_first", "CREATE TABLE first (id int)", own);
    await migrate(database.url, { folder: own });
    await writeMigration("2_second", "ALTER TABLE first ADD COLUMN more int", own);
    const dump = new pg.Client({ connectionString: database.url, application_name: "pg_dump" });
    await dump.connect();
    await dump.query("BEGIN; LOCK TABLE first IN ACCESS SHARE MODE");
    const { rows } = await dump.query("SELECT pg_backend_pid() AS pid");

    let isOver = false;
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    const migrated = migrate(database.url, { folder: own, lockTimeoutMs: 300, retryAfterMs: 200, maxAttempts: 4, say })
      .catch((error: unknown) => error)
      .finally(() => {
        isOver = true;
      });
    let written = 0;
    while (!isOver) {
      await query(database.url, "INSERT INTO first VALUES (1)");
      written++;
    }
    expect(written).toBeGreaterThan(1);
    const error = await migrated;
    expect(error).toBeInstanceOf(MigrationError);
    expect(String(error)).toMatch(
      new RegExp(
        `Migration 2_second gave up after 4 attempts .*: pg_dump \\(process ${rows[0].pid}, since \\d{4}-.*Z\\)`,
      ),
    );
    expect(said).toHaveLength(3);
    expect(said[0]).toMatch(/^Migration 2_second stepped back from a lock of pg_dump \(.*\); attempt 2 follows\.$/);
    await dump.query("COMMIT");
    await dump.end();
    expect(await migrate(database.url, { folder: own })).toEqual(["2_second"]);
    expect(await query(database.url, "SELECT count(*)::int AS n FROM first")).toEqual([{ n: written }]);
  });
});

describe("migrate, when a migration needs a quiet hour", () => {
  const database = useEmptyDatabase();

  it("says so, or refuses before it changes anything, and not on a new database", async () => {
    const own = await mkdtemp(join(folder, "quiet-"));
    const said: string[] = [];
    const options = { folder: own, say: (line: string) => void said.push(line) };
    await writeMigration("1_first", "-- A table.\n-- quiet hour: it rewrites first\nCREATE TABLE first (id int)", own);
    expect(await migrate(database.url, { ...options, refusesQuietHour: true })).toEqual(["1_first"]);
    await writeMigration("2_second", "CREATE TABLE second (id int)", own);
    await writeMigration("3_third", "-- quiet hour: it rewrites third\nCREATE TABLE third (id int)", own);
    await expect(migrate(database.url, { ...options, refusesQuietHour: true })).rejects.toThrow(
      "Migration 3_third needs a quiet hour: it rewrites third\nNothing was changed. Then run: waymark migrate --yes",
    );
    expect(said).toEqual([]);
    expect(await migrate(database.url, options)).toEqual(["2_second", "3_third"]);
    expect(said).toEqual(["Migration 3_third needs a quiet hour: it rewrites third"]);
  });
});

describe("migrate and services, on the database of a newer release", () => {
  const database = useEmptyDatabase();
  const problem = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      return await findSchemaProblem(client, "worker");
    } finally {
      await client.end();
    }
  };
  let newer: string;
  const met: string[] = [];
  const migrateAsOlder = () => migrate(database.url, { meetNewer: (name) => void met.push(name) });

  beforeAll(async () => {
    newer = join(folder, "newer");
    await cp(migrationsFolder, newer, { recursive: true });
    await migrate(database.url);
  });

  it("use it, with one migration more that says nothing or names this release", async () => {
    const release = (await readMigrationNames()).at(-1);
    await writeMigration("29990101000000_more", "CREATE TABLE more (id int)", newer);
    await writeMigration("29990102000000_still", `-- oldest release: ${release}\nSELECT 1`, newer);
    expect(await migrate(database.url, { folder: newer })).toHaveLength(2);
    expect(await migrateAsOlder()).toEqual([]);
    expect(met).toEqual(["29990102000000_still"]);
    expect(await problem()).toBeUndefined();
  });

  it("refuse it, with one migration more that names a later release; that release goes on", async () => {
    const sql = "-- Drops a column.\n-- oldest release: 29990101000000_more\nSELECT 1";
    await writeMigration("29990103000000_never", sql, newer);
    await migrate(database.url, { folder: newer });
    await expect(migrateAsOlder()).rejects.toThrow(
      /^This database is newer: it has migration 29990103000000_never\. This release may not use it, .* has 29990101000000_more\.$/,
    );
    expect(await problem()).toBe(
      "the schema is newer than this release may use: run the release with migration 29990101000000_more, or a later one",
    );
    expect(await migrate(database.url, { folder: newer })).toEqual([]);
    const middle = join(folder, "middle");
    await cp(newer, middle, { recursive: true });
    await rm(join(middle, "29990103000000_never"), { recursive: true });
    expect(await migrate(database.url, { folder: middle })).toEqual([]);
  });
});

it("a migration names as its oldest release one that is there, itself or an earlier one", async () => {
  const names = await readMigrationNames();
  for (const name of names) {
    const sql = await readFile(join(migrationsFolder, name, "migration.sql"), "utf8");
    for (const line of sql.match(/^-- oldest release:.*$/gm) ?? []) {
      const oldest = line.slice("-- oldest release: ".length);
      expect({ name, isKnown: names.includes(oldest) && oldest <= name }).toEqual({ name, isKnown: true });
    }
  }
});
