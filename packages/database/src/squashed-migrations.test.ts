import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase, useEmptyDatabase, useRolePrefix } from "@waymark/testing";
import pg from "pg";
import { restoreBackup } from "./backup/restore-backup.js";
import { findTables } from "./backup/tables.query.js";
import { writeBackup } from "./backup/write-backup.js";
import { readCatalog } from "./catalog.fixture.js";
import { migrate, migrationsFolder, readMigrationNames } from "./migrate.js";
import { byRole, grantRoles } from "./roles.js";
import { createUuidV7 } from "./uuid.js";

/**
 * `pg_dump --inserts` of a database that commit fe2f68b migrated: spans and visitors from before their partitions, and rows in
 * every table.
 */
const dump = readFile(fileURLToPath(new URL("fe2f68b.fixture.sql.gz", import.meta.url))).then((file) =>
  gunzipSync(file).toString(),
);

async function onUrl<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const load = (url: string) => onUrl(url, async (client) => void (await client.query(await dump)));

const recorded = (url: string) =>
  onUrl(url, async (client) => {
    const { rows } = await client.query("SELECT migration_name AS name FROM _prisma_migrations ORDER BY 1");
    return rows.map(({ name }) => name);
  });

type Rows = Readonly<Record<string, readonly string[]>>;

/** All rows of the database, or of another one's tables and columns, as text. */
function readRows(url: string, of = url): Promise<Rows> {
  return onUrl(of, findTables).then((tables) =>
    onUrl(url, async (client) => {
      const read: Record<string, string[]> = {};
      for (const { table, columns } of tables) {
        const list = columns.map((column) => `"${column}"`).join(", ");
        const { rows } = await client.query(`SELECT ROW(${list})::text AS row FROM "${table}" ORDER BY 1`);
        read[table] = rows.map(({ row }) => row);
      }
      return read;
    }),
  );
}

const quiet = { onProgress: () => undefined, signal: new AbortController().signal };

async function backUp(url: string): Promise<Buffer> {
  const output = new PassThrough();
  const [bytes] = await Promise.all([buffer(output), writeBackup(url, output, quiet)]);
  return bytes;
}

/** Writes traces with a span as services of fe2f68b do. @returns a function that stops it and gives the ids of stored spans */
function keepWriting(url: string): () => Promise<readonly string[]> {
  const uuid = createUuidV7();
  const stored: string[] = [];
  let isOver = false;
  const done = onUrl(url, async (client) => {
    const { rows } = await client.query("SELECT id FROM account LIMIT 1");
    while (!isOver) {
      const ids = [rows[0].id, uuid(), uuid()];
      await client.query(
        `WITH trace AS (INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
           VALUES ($1, $2, 'a', 'n', 'running', now()) RETURNING account_id, id)
         INSERT INTO span (account_id, trace_id, id, name, status, started_at)
         SELECT account_id, id, $3::uuid, 's', 'ok', now() FROM trace`,
        ids,
      );
      stored.push(ids[2]);
    }
  });
  return async () => {
    isOver = true;
    await done;
    return stored;
  };
}

describe("a database of fe2f68b", () => {
  const old = useEmptyDatabase();
  const untouched = useEmptyDatabase();
  const restored = useEmptyDatabase();
  const fresh = useDatabase();
  const prefix = useRolePrefix();
  beforeAll(async () => {
    await load(untouched.url);
    await load(old.url);
  });

  it("becomes one of this release while others write, and loses nothing", async () => {
    const [init, ...later] = await readMigrationNames();
    const stop = keepWriting(old.url);
    expect(await migrate(old.url)).toEqual(later);
    const stored = await stop();
    expect(await recorded(old.url)).toEqual([init, ...later]);
    expect(await migrate(old.url)).toEqual([]);
    const [before, after] = [await readRows(untouched.url), await readRows(old.url, untouched.url)];
    expect(Object.values(before).filter((rows) => rows.length === 0)).toEqual([]);
    for (const [table, rows] of Object.entries(before)) {
      expect([table, after[table]]).toEqual([table, expect.arrayContaining([...rows])]);
    }
    const spans = "SELECT count(*)::int AS n FROM span WHERE id = ANY ($1)";
    const found = await onUrl(old.url, async (client) => (await client.query(spans, [stored])).rows);
    expect(found).toEqual([{ n: stored.length }]);
    expect(after["span"]).toHaveLength((before["span"]?.length ?? 0) + stored.length);
  });

  it("then has the catalogs and rights of a new one", async () => {
    const passwords = byRole((role) => `password-of-${role}`);
    for (const url of [old.url, fresh.directUrl]) await grantRoles(url, passwords, prefix);
    const [upgraded, made] = [await onUrl(old.url, readCatalog), await onUrl(fresh.directUrl, readCatalog)];
    expect(upgraded).toEqual(made);
    expect(made.length).toBeGreaterThan(500);
  });

  it("has backups that this release restores", async () => {
    await restoreBackup(restored.url, Readable.from([await backUp(untouched.url)]), quiet);
    expect(await recorded(restored.url)).toEqual((await readMigrationNames()).slice(0, 1));
    expect(await readRows(restored.url)).toEqual(await readRows(untouched.url));
    await migrate(restored.url);
    expect(await readRows(restored.url, untouched.url)).toEqual(await readRows(untouched.url));
  });
});

describe("a database from before init", () => {
  const database = useEmptyDatabase();
  const target = useEmptyDatabase();
  beforeAll(() => load(database.url));
  const change = (sql: string) => onUrl(database.url, (client) => client.query(sql));

  it("without all migrations of fe2f68b is refused with the cure, as its backup is, and stays as it is", async () => {
    const newest = "migration_name LIKE '%visit_fill'";
    await change(`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE ${newest}`);
    const names = await recorded(database.url);
    await expect(migrate(database.url)).rejects.toThrow(
      /^The database is older than commit fe2f68b, .*: migrate with commit fe2f68b first, then with this release\.$/,
    );
    await expect(restoreBackup(target.url, Readable.from([await backUp(database.url)]), quiet)).rejects.toThrow(
      /^The backup's database is older than commit fe2f68b/,
    );
    expect(await recorded(database.url)).toEqual(names);
    expect(await onUrl(target.url, findTables)).toEqual([]);
    await change(`UPDATE _prisma_migrations SET rolled_back_at = NULL WHERE ${newest}`);
  });

  it("with a changed migration is refused", async () => {
    const people = "migration_name LIKE '%people'";
    const reverse = `UPDATE _prisma_migrations SET checksum = reverse(checksum) WHERE ${people}`;
    await change(reverse);
    await expect(migrate(database.url)).rejects.toThrow(/or one of its migrations was changed/);
    await change(reverse);
  });

  it("is taken with the migrations' second names, and with some later migrations", async () => {
    const [init, first = "", ...later] = await readMigrationNames();
    await change(
      `UPDATE _prisma_migrations SET migration_name = '20261122054057_people' WHERE migration_name = '20261125000000_people'`,
    );
    const sql = await readFile(`${migrationsFolder}${first}/migration.sql`, "utf8");
    const checksum = createHash("sha256").update(sql).digest("hex");
    await change(sql);
    await change(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', '${checksum}', '${first}', now())`,
    );
    expect(await migrate(database.url)).toEqual(later);
    expect(await recorded(database.url)).toEqual([init, first, ...later]);
  });
});
