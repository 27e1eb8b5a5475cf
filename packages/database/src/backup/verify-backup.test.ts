import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase, useEmptyDatabase } from "@waymark/testing";
import fc from "fast-check";
import type pg from "pg";
import { migrate } from "../migrate.js";
import { withClient } from "../transaction.js";
import { readBackupAge, recordBackup } from "./backup-record.query.js";
import { readBackup } from "./read-backup.js";
import { restoreBackup } from "./restore-backup.js";
import { compareSums, verifyBackup } from "./verify-backup.js";
import { sumTables, writeBackup } from "./write-backup.js";

const quiet = { onProgress: () => undefined, signal: new AbortController().signal };
const older = fileURLToPath(new URL("fe2f68b.fixture.backup", import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-verify-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function backUp(url: string, name: string): Promise<string> {
  const file = join(folder, name);
  await writeBackup(url, createWriteStream(file), quiet);
  return file;
}

/** Reads all parts. @returns the sums, or the sentence for what is broken */
async function read(bytes: Buffer) {
  const sums = [];
  try {
    const { parts } = await readBackup(Readable.from([bytes]));
    for await (const part of parts) if (part.kind === "sum") sums.push(part.sum);
    return sums;
  } catch (error) {
    return (error as Error).message;
  }
}

const count = (client: pg.ClientBase, sql: string) => client.query(sql).then(({ rowCount }) => rowCount);
const scratches = "SELECT FROM pg_database WHERE datname LIKE left(current_database(), 50) || '\\_verify'";

describe("reading a backup", () => {
  const source = useDatabase();
  let bytes: Buffer;
  let sums: Awaited<ReturnType<typeof read>>;
  beforeAll(async () => {
    await source.pool.query("INSERT INTO account (id, email, plan) VALUES (gen_random_uuid(), 'a@example.com', 'pro')");
    bytes = await readFile(await backUp(source.url, "read.backup"));
    sums = await read(bytes);
    expect(sums).toContainEqual(expect.objectContaining({ table: "account", rows: 1 }));
  });

  it("says that a file cut anywhere is not whole", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (end) => {
        expect(await read(bytes.subarray(0, end))).toMatch(/^This (file is no backup of Waymark|backup is broken)/);
      }),
    );
  });

  it("finds any flipped bit, but for those of the head that mean nothing", async () => {
    const meaningless = [3, 4, 5, 6, 7, 8, 9];
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length * 8 - 1 }), async (bit) => {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const result = await read(flipped);
        if (typeof result === "string") expect(result).toMatch(/^This (file is no backup|backup is broken)/);
        else expect([meaningless.includes(bit >> 3), result]).toEqual([true, sums]);
      }),
    );
  });
});

describe("verifying", () => {
  const source = useDatabase();

  it("restores into a scratch database, compares, and leaves none", async () => {
    const file = await backUp(source.url, "whole.backup");
    const { at, migrations, tables } = await verifyBackup(source.url, file, quiet);
    expect(Date.now() - Date.parse(at ?? "")).toBeLessThan(600_000);
    expect(migrations).toEqual({ ofFile: expect.any(Number), later: 0 });
    expect(tables.map(({ table }) => table)).toContain("span");
    expect(tables.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(await count(source.pool as never, scratches)).toBe(0);
  });

  it("leaves no scratch database for a broken file, and takes none that is not its own", async () => {
    const file = join(folder, "broken.backup");
    await writeFile(file, (await readFile(older)).subarray(0, -30));
    await expect(verifyBackup(source.url, file, quiet)).rejects.toThrow("a part of it is missing");
    expect(await count(source.pool as never, scratches)).toBe(0);
    const name = `${new URL(source.url).pathname.slice(1, 51)}_verify`;
    await source.pool.query(`CREATE DATABASE "${name}"`);
    await expect(verifyBackup(source.url, older, quiet)).rejects.toThrow(`has a database ${name} already`);
    await source.pool.query(`COMMENT ON DATABASE "${name}" IS 'A scratch database of ''waymark backup verify'''`);
    await verifyBackup(source.url, older, quiet);
    expect(await count(source.pool as never, scratches)).toBe(0);
  });

  it("names tables that differ in rows or contents, or are missing", () => {
    const sum = (table: string, rows: number, digest: string) => ({ table, rows, digest });
    const file = [sum("a", 1, "x"), sum("b", 2, "x"), sum("c", 3, "x"), sum("d", 4, "x")];
    expect(compareSums(file, [sum("a", 1, "x"), sum("b", 1, "x"), sum("c", 3, "y")])).toEqual([
      { table: "a", rows: 1 },
      { table: "b", rows: 2, problem: "the restored table has 1" },
      { table: "c", rows: 3, problem: "restored rows differ" },
      { table: "d", rows: 4, problem: "it is not in the restored database" },
    ]);
  });
});

describe("a backup of release fe2f68b", () => {
  const target = useEmptyDatabase();
  const again = useEmptyDatabase();

  it("gives every row of its 46 tables to this release, and these are saved and restored as before", async () => {
    const stated = [
      ...gunzipSync(await readFile(older))
        .toString()
        .matchAll(/^COPY "(\w+)"(?:.*\n)*?-- (\d+) rows$/gm),
    ];
    const rows = Object.fromEntries(stated.map(([, table, n]) => [table, Number(n)]));
    const restored = await restoreBackup(target.url, createReadStream(older), quiet);
    expect(Object.fromEntries(restored.tables.map((sum) => [sum.table, sum.rows]))).toEqual(rows);
    expect(restored.rows).toBe(236);
    await migrate(target.url);
    const now = await sumTables(target.url, quiet);
    const changed = now.filter((sum) => rows[sum.table] !== undefined && rows[sum.table] !== sum.rows);
    expect(changed).toEqual([]);
    expect(Object.keys(rows).filter((table) => !now.some((sum) => sum.table === table))).toEqual([]);
    await restoreBackup(again.url, createReadStream(await backUp(target.url, "again.backup")), quiet);
    expect(await sumTables(again.url, quiet)).toEqual(now);
  });
});

describe("the record", () => {
  const source = useDatabase();
  const target = useEmptyDatabase();

  it("never goes back, and a restored database knows the backup that it came from", async () => {
    const age = () => readBackupAge(source.pool);
    expect(await age()).toEqual({ seconds: expect.any(Number), isRecorded: false, verifiedSeconds: null });
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    expect(await recordBackup(source.pool, { at: hoursAgo(5) })).toBe(true);
    await recordBackup(source.pool, { at: hoursAgo(9), verifiedAt: hoursAgo(1) });
    const { seconds, isRecorded, verifiedSeconds } = await age();
    expect([Math.round(seconds / 3_600), isRecorded, Math.round((verifiedSeconds ?? 0) / 3_600)]).toEqual([5, true, 1]);
    const file = await backUp(source.url, "recorded.backup");
    const { header } = await restoreBackup(target.url, createReadStream(file), quiet);
    const { rows } = await withClient(target.url, "test", (client) => client.query("SELECT * FROM backup_record"));
    expect(rows).toEqual([{ is_stored: true, at: new Date(header.at ?? ""), verified_at: null }]);
  });

  it("is left out where the schema is from before it", async () => {
    await source.pool.query("ALTER TABLE backup_record RENAME TO x");
    expect(await recordBackup(source.pool, { at: "now" })).toBe(false);
    await source.pool.query("ALTER TABLE x RENAME TO backup_record");
  });
});
