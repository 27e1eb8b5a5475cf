import { createHash } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { useDatabase, useEmptyDatabase } from "@waymark/testing";
import pg from "pg";
import { migrate } from "../migrate.js";
import { createUuidV7 } from "../uuid.js";
import { restoreBackup } from "./restore-backup.js";
import { findTables } from "./tables.query.js";
import { writeBackup } from "./write-backup.js";

const { signal } = new AbortController();
const quiet = { onProgress: () => undefined, signal };

async function backUp(url: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  await writeBackup(url, output, quiet);
  return Buffer.concat(chunks);
}

/** Delivers the bytes a few at a time, so that lines and marks are cut everywhere. */
const inPieces = (bytes: Buffer, size: number) =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
    { objectMode: false },
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

/** All rows of all tables as text, in order. */
async function readAll(client: pg.ClientBase) {
  const tables = await findTables(client);
  const read = async (table: string) => {
    const { rows } = await client.query(`SELECT t::text AS row FROM "${table}" AS t ORDER BY 1`);
    return [table, rows.map(({ row }) => row)] as const;
  };
  const entries = [];
  for (const { table } of tables) entries.push(await read(table));
  return Object.fromEntries(entries);
}

const hostile = [
  "\\.",
  "\\N",
  "tab\tand\nnewline\r",
  "\\.\n-- 5 rows\n",
  "ü\u{1f600}",
  "'; DROP TABLE account; --",
  "",
];

describe("a backup", () => {
  const source = useDatabase();
  const uuid = createUuidV7();

  /** An account with traces of hostile text, events in two months, and bytes. */
  async function fill(pool: pg.Pool) {
    const account = uuid();
    await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
      account,
      `${account}@example.com`,
    ]);
    await pool.query(
      "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'trace', 'k', $3, 'h')",
      [uuid(), account, createHash("sha256").update(account).digest()],
    );
    for (const name of hostile) {
      const values = [account, uuid(), name, JSON.stringify({ name })];
      await pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, metadata, session_id, tags)
         VALUES ($1, $2, 'a', $3, 'running', '2026-11-22T01:02:03.456789Z', $4, $3, ARRAY[$3, 'b'])`,
        values,
      );
    }
    const site = uuid();
    await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 'n')", [
      site,
      account,
      `${site}.example`,
    ]);
    await pool.query("INSERT INTO visitor_salt (day, salt) VALUES (current_date, $1) ON CONFLICT DO NOTHING", [
      Buffer.alloc(32, 1),
    ]);
    for (const month of ["2026-01", "2026-03"]) {
      await pool.query("SELECT ensure_event_partition($1::date)", [`${month}-01`]);
      await pool.query(
        "INSERT INTO event (site_id, id, at, type, path, channel) VALUES ($1, uuid_floor($2::timestamptz), $2, 'pageview', '/', 'Direct')",
        [site, `${month}-05T00:00:00Z`],
      );
    }
  }

  const target = useEmptyDatabase();
  const second = useEmptyDatabase();
  const third = useEmptyDatabase();

  it("gives every row back, with bytes cut anywhere", async () => {
    await fill(source.pool);
    const name = new URL(source.url).pathname.slice(1);
    await source.pool.query(`ALTER DATABASE "${name}" SET datestyle = 'SQL, DMY'`);
    const backup = await backUp(source.url);
    await source.pool.query(`ALTER DATABASE "${name}" RESET datestyle`);
    const { rows } = await restoreBackup(target.url, inPieces(backup, 7), quiet);
    const [before, after] = [await onUrl(source.url, readAll), await onUrl(target.url, readAll)];
    expect(after).toEqual(before);
    expect(rows).toBe(Object.values(before).flat().length);
    const partitions = "SELECT count(*)::int AS n FROM ONLY event_202601";
    expect(await onUrl(target.url, async (client) => (await client.query(partitions)).rows)).toEqual([{ n: 1 }]);
    const salts = await onUrl(target.url, async (client) => (await client.query("SELECT FROM visitor_salt")).rows);
    expect(salts).toEqual([]);
    expect(await migrate(target.url)).toEqual([]);
  });

  it("refuses a database with accounts", async () => {
    const backup = await backUp(source.url);
    await expect(restoreBackup(source.url, inPieces(backup, 65_536), quiet)).rejects.toThrow(
      "The database has accounts already. Restore into an empty database.",
    );
  });

  it("leaves an empty database empty for a broken file", async () => {
    const backup = await backUp(source.url);
    const text = gunzipSync(backup).toString();
    const broken = {
      "no gzip": Buffer.from("hello"),
      "another text": gzipSync("hello\n"),
      "cut bytes": backup.subarray(0, backup.length - 20),
      "a cut text": gzipSync(text.slice(0, text.length - 22)),
      "a lost row": gzipSync(text.replace(/\n[^\n]*\n\\\.\n-- 7 rows/, "\n\\.\n-- 7 rows")),
      "a changed row": gzipSync(text.replace("tab\\tand", "tab\\tAnd")),
      "a lost table": gzipSync(text.replace(/COPY "site" (?:.*\n)*?-- \d+ rows, .*\n/, "")),
      "another statement": gzipSync(text.replace(/COPY "account"[^\n]*\n/, "DELETE FROM account;\n")),
      "another file": gzipSync(text.replace("FROM stdin;", "FROM '/etc/passwd';")),
      "a newer version": gzipSync(text.replace('"migrations":[', '"migrations":["2099_later",')),
      "an unknown column": gzipSync(text.replace('COPY "account" ("id"', 'COPY "account" ("idx"')),
    };
    const sentences: Record<string, string> = {};
    for (const [name, bytes] of Object.entries(broken)) {
      await restoreBackup(second.url, inPieces(bytes, 65_536), quiet).catch((error: Error) => {
        sentences[name] = error.message;
      });
    }
    expect(sentences).toEqual({
      "no gzip": "This file is no backup of Waymark, or a part of it is missing.",
      "another text": "This file is no backup of Waymark.",
      "cut bytes": "This file is no backup of Waymark, or a part of it is missing.",
      "a cut text": "This backup is broken: its end is missing.",
      "a lost row": "This backup is broken: trace has 6 rows, and had 7.",
      "another statement": "This backup is broken: it has a line that Waymark does not write.",
      "another file": "This backup is broken: it has a line that Waymark does not write.",
      "a newer version": "This version does not know migration 2099_later. Run a newer version.",
      "a changed row": "This backup is broken: rows of trace are not as they were.",
      "a lost table": "This backup is broken: it has no table site.",
      "an unknown column": 'This backup is broken: column "idx" of relation "account" does not exist.',
    });
    const accounts = await onUrl(second.url, async (client) => (await client.query("SELECT FROM account")).rows);
    expect(accounts).toEqual([]);
  });

  it("is of one moment, however the database changes meanwhile", async () => {
    const before = await onUrl(source.url, readAll);
    const tables: string[] = [];
    let changed: Promise<unknown> | undefined;
    const chunks: Buffer[] = [];
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
      },
    });
    await writeBackup(source.url, output, {
      signal,
      onProgress({ table }) {
        tables.push(table);
        changed ??= source.pool.query("DELETE FROM trace");
      },
    });
    await changed;
    expect(tables.indexOf("trace")).toBeGreaterThan(0);
    const rows = (
      gunzipSync(Buffer.concat(chunks))
        .toString()
        .match(/^-- (\d+) rows, /gm) ?? []
    ).map((it) => Number(it.split(" ")[1]));
    expect(rows.reduce((sum, it) => sum + it, 0)).toBe(Object.values(before).flat().length);
  });

  it("lets sequences go on", async () => {
    const next = (client: pg.ClientBase | pg.Pool) =>
      client.query("SELECT nextval('model_call_version_seq')::int AS n");
    for (let count = 0; count < 4; count += 1) await next(source.pool);
    await restoreBackup(third.url, inPieces(await backUp(source.url), 65_536), quiet);
    expect((await onUrl(third.url, next)).rows).toEqual([{ n: 5 }]);
  });
});
