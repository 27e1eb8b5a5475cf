import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort, useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { createExaminer, writeSettings } from "./installation.fixture.js";

const database = useDatabase();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-doctor-"));
});
afterAll(() => rm(folder, { recursive: true }));

const examine = createExaminer(database);

const wrong = (says: RegExp) =>
  expect.objectContaining({ state: "wrong", says: expect.stringMatching(says), cure: expect.any(String) });
const good = (says: RegExp) => expect.objectContaining({ state: "good", says: expect.stringMatching(says) });

describe("an installation", () => {
  it("has nothing wrong but the durability that tests go without", async () => {
    const found = await examine();
    expect(found["durability"]).toEqual(wrong(/^fsync, full_page_writes, synchronous_commit off: a crash loses/));
    const others = Object.entries(found).filter(([name]) => name !== "durability");
    expect(others.filter(([, { state }]) => state === "wrong")).toEqual([]);
    expect(found).toMatchObject({
      database: good(/^Postgres \d+.* answers\.$/),
      schema: good(/all migrations/),
      clock: good(/agrees/),
      connections: good(/^\d+ of \d+ connections/),
      vacuum: good(/keeps up/),
      mails: good(/Nothing has waited/),
      Redis: good(/Not used/),
      settings: { state: "unknown" },
    });
    const { stdout, code } = await createCommandLine({ DATABASE_URL: database.url }).run(["doctor", "--operator"]);
    expect([stdout.split("\n").length >= Object.keys(found).length, code]).toEqual([true, 1]);
    expect(stdout).toMatch(/^✓ database +Postgres/);
  });
});

describe("the database", () => {
  it("is wrong without an answer, and hides what it would tell", async () => {
    const url = new URL(database.url);
    url.pathname = "/nobody_has_it";
    const found = await examine({ DATABASE_URL: url.href, DIRECT_DATABASE_URL: url.href });
    expect(found["database"]).toEqual(wrong(/refuses the connection: .*nobody_has_it/));
    expect(found["schema"]).toEqual({ state: "unknown", says: "The database gives no answer." });
  });

  it("lacks a migration", async () => {
    const { pool } = database;
    const newest = (await pool.query("SELECT max(migration_name) AS name FROM _prisma_migrations")).rows[0].name;
    await pool.query("UPDATE _prisma_migrations SET migration_name = 'x' WHERE migration_name = $1", [newest]);
    expect((await examine())["schema"]).toEqual(
      wrong(/^The schema is older than this release: run its 'waymark migrate'/),
    );
    await pool.query("UPDATE _prisma_migrations SET migration_name = $1 WHERE migration_name = 'x'", [newest]);
    expect((await examine())["schema"]).toEqual(good(/all migrations/));
  });

  it("tells a clock that is behind or ahead", async () => {
    const shifted = (ms: number) => () => new Date(Date.now() + ms);
    expect((await examine({}, [], shifted(600_000)))["clock"]).toEqual(wrong(/is 10 m 00 s ahead of/));
    expect((await examine({}, [], shifted(-600_000)))["clock"]).toEqual(wrong(/behind/));
  });

  it("tells alerts that nobody sends, with the last error", async () => {
    const { pool } = database;
    const values = "gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'trace.failed'";
    const insert = `INSERT INTO delivery (account_id, event_id, channel_id, type, due_at, last_error, is_collecting)`;
    await pool.query(`${insert} VALUES (${values}, now() - interval '9 minutes', NULL, false)`);
    expect((await examine())["mails"]).toEqual(good(/Nothing/));
    await pool.query(`${insert} VALUES (${values}, now() - interval '11 minutes', 'the provider answers 401', false)`);
    expect((await examine())["mails"]).toEqual(
      wrong(/^Waiting for over 10 minutes: 1 alert; the provider answers 401\.$/),
    );
    await pool.query("DELETE FROM delivery");
  });
});

describe("the disk", () => {
  it("tells what grows from the second day on", async () => {
    const { pool } = database;
    const tell = async () => (await examine())["disk"]?.says;
    expect(await tell()).not.toContain("a day");
    await pool.query("UPDATE _prisma_migrations SET started_at = started_at - interval '2 days'");
    await pool.query(
      "INSERT INTO account (id, email, plan) SELECT gen_random_uuid(), i || '@example.com', 'free' FROM generate_series(1, 5000) AS i",
    );
    await pool.query("ANALYZE account");
    for (let i = 0; i < 50 && !/account .* more a day/.test((await tell()) ?? ""); i++) await pause(200);
    expect(await tell()).toMatch(/account [\d.]+ [KM]iB, [\d.]+ [KM]iB more a day/);
    await pool.query("DELETE FROM account");
    await pool.query("UPDATE _prisma_migrations SET started_at = started_at + interval '2 days'");
  });
});

describe("an address", () => {
  it("is wrong with a path, without a name, unencrypted, or no address", async () => {
    const tell = async (url: string) => (await examine({ COLLECTOR_URL: url }))["collector"];
    expect(await tell("https://localhost/collect")).toEqual(wrong(/has a path: \/collect/));
    expect(await tell("https://nobody.invalid")).toEqual(wrong(/No address is known for nobody\.invalid/));
    expect(await tell("http://192.0.2.1")).toEqual(wrong(/is not encrypted/));
    const unused = await tell(`http://127.0.0.1:${await freePort()}`);
    expect(unused).toEqual({ state: "unknown", says: expect.stringMatching(/does not answer here: .*ECONNREFUSED/) });
    expect(await tell("nonsense")).toEqual(wrong(/COLLECTOR_URL is no address/));
    expect((await examine({ DASHBOARD_DOMAIN: "nobody.invalid" }))["dashboard"]).toEqual(wrong(/nobody\.invalid/));
  });

  it("is good where it answers, and wrong where it fails", async () => {
    let status = 404;
    const server = createServer((_request, response) => response.writeHead(status).end("{}"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await examine({ TRACE_API_URL: url }))["trace API"]).toEqual(good(/^http:\/\/127\.0\.0\.1:\d+ answers\.$/));
    status = 502;
    expect((await examine({ TRACE_API_URL: url }))["trace API"]).toEqual(wrong(/answers 502/));
    server.close();
  });
});

describe("a backup", () => {
  it("is wrong when the newest one is older than a day and two hours, empty or missing", async () => {
    const backups = join(folder, "backups");
    const tell = async () => (await examine({}, ["--backups", backups]))["backup"];
    expect(await tell()).toEqual(wrong(/cannot be read/));
    await mkdir(backups);
    expect(await tell()).toEqual(wrong(/has no backup/));
    await writeFile(join(backups, "empty.dump"), "");
    expect(await tell()).toEqual(wrong(/has no backup/));
    await writeFile(join(backups, "a.dump"), "x".repeat(2_048));
    expect(await tell()).toEqual(good(/^a\.dump \(2\.0 KiB\) is .* old\.$/));
    const old = Date.now() / 1_000 - 27 * 3_600;
    await utimes(join(backups, "a.dump"), old, old);
    expect(await tell()).toEqual(wrong(/^a\.dump .* is 27\S* h/));
  });
});

describe("the record of backups", () => {
  it("is wrong where the last one, or an installation without one, is older than a day and two hours", async () => {
    const { pool } = database;
    const tell = async () => (await examine())["backup"];
    expect(await tell()).toEqual({
      state: "unknown",
      says: expect.stringMatching(/^None in the .* of this database\.$/),
    });
    const started = "UPDATE _prisma_migrations SET started_at = started_at - interval '27 hours'";
    await pool.query(started);
    expect(await tell()).toEqual(wrong(/^None in the 2\d\S* h/));
    await pool.query("INSERT INTO backup_record (at) VALUES (now() - interval '25 hours')");
    expect(await tell()).toEqual(good(/^The last one is 25\S* h.* old; none was verified\.$/));
    await pool.query("UPDATE backup_record SET at = now() - interval '27 hours', verified_at = now()");
    expect(await tell()).toEqual(wrong(/^The last one is 27\S* h.* old; one was verified .* ago\.$/));
    await pool.query("DELETE FROM backup_record");
    await pool.query(started.replace("- interval", "+ interval"));
  });
});

describe("settings", () => {
  const passwords = { POSTGRES_PASSWORD: "a-password-of-the-test" };
  const tell = async (lines: Readonly<Record<string, string>>, mode?: number) =>
    examine({}, ["--settings", await writeSettings(lines, mode)]);

  it("are good where each is known, and everything mails need is there", async () => {
    const found = await tell({ ...passwords, RESEND_API_KEY: "re_x", ALERT_FROM: "a@example.com", COMPOSE_FILE: "x" });
    expect(found).toMatchObject({ settings: good(/All 4/), passwords: good(/^1 pass/), mail: good(/Resend/) });
    const bySmtp = await tell({ ...passwords, SMTP_URL: "smtp://x", ALERT_FROM: "a@example.com" });
    expect(bySmtp).toMatchObject({ mail: good(/mail server sends/) });
  });

  it("name unknown ones, and what was meant", async () => {
    expect((await tell({ ...passwords, RESEND_KEY: "x" }))["settings"]).toEqual(
      wrong(/^RESEND_KEY is not read: did you mean RESEND_API_KEY\?$/),
    );
    expect((await examine({ ALERTS_FROM: "x", HOSTNAME: "x" }))["settings"]).toEqual(
      wrong(/^ALERTS_FROM is not read: did you mean ALERT_FROM\?$/),
    );
  });

  it("are wrong where all may read them, where a password is short or twice there, or mails are files", async () => {
    expect((await tell(passwords, 0o644))["settings"]).toEqual(wrong(/Everybody on this machine reads/));
    expect((await tell({ POSTGRES_PASSWORD: "short" }))["passwords"]).toEqual(
      wrong(/^Shorter than 12 characters: POSTGRES_PASSWORD\.$/),
    );
    const twice = { ...passwords, REDIS_PASSWORD: passwords.POSTGRES_PASSWORD };
    expect((await tell(twice))["passwords"]).toEqual(
      wrong(/^The same password stands in POSTGRES_PASSWORD, REDIS_PASSWORD\.$/),
    );
    expect((await tell(passwords))["mail"]).toEqual(wrong(/Mails are files/));
    expect((await tell({ ...passwords, RESEND_API_KEY: "re_x" }))["mail"]).toEqual(wrong(/ALERT_FROM is missing/));
  });

  it("send a mail on request, and tell why one is not taken", async () => {
    const asked: string[] = [];
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const part of request) text += part;
      asked.push(text);
      const isKnown = request.headers.authorization === "Bearer re_good";
      response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" });
      response.end(JSON.stringify(isKnown ? { id: "1" } : { name: "validation_error", message: "API key is invalid" }));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const RESEND_BASE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = async (env: NodeJS.ProcessEnv) =>
      (await examine({ ALERT_FROM: "a@example.com", ...env }, ["--mail", "Grace@example.com"]))["mail"];
    try {
      expect(await send({ RESEND_API_KEY: "re_good", RESEND_BASE_URL })).toEqual(good(/^A mail to grace@example.com/));
      expect(JSON.parse(asked[0] ?? "")).toMatchObject({ from: "a@example.com", to: "grace@example.com" });
      expect(await send({ RESEND_API_KEY: "re_bad", RESEND_BASE_URL })).toEqual(
        wrong(/not taken: .*API key is invalid/),
      );
    } finally {
      server.close();
    }
    expect(await send({ SMTP_URL: `smtp://127.0.0.1:${await freePort()}` })).toEqual(
      wrong(/not taken: .*ECONNREFUSED/),
    );
    expect(await send({ ALERT_FROM: "" })).toEqual(wrong(/Mails are files/));
    expect(await send({ SMTP_URL: "http://127.0.0.1" })).toEqual(wrong(/^SMTP_URL must/));
    expect(await createCommandLine({}).run(["doctor", "--mail", "a@example.com"])).toMatchObject({ code: 2 });
  });

  it("are wrong where every client may choose its address", async () => {
    expect((await tell({ ...passwords, TRUSTED_PROXIES: "10.0.0.0/8" }))["settings"]).toEqual(good(/All 2/));
    expect((await tell({ ...passwords, TRUSTED_PROXIES: "0.0.0.0/0" }))["settings"]).toEqual(
      wrong(/^TRUSTED_PROXIES .*every client may choose its address/),
    );
  });

  it("come from standard input too, compared with this release's", async () => {
    const cli = createCommandLine({ DATABASE_URL: database.url });
    const args = ["doctor", "--operator", "--json", "--settings", "-"];
    const { stdout } = await cli.run(args, "COLLECTOR_FILES=x\nNONSENSE=x\n");
    expect(JSON.parse(stdout).checks).toContainEqual(
      expect.objectContaining({
        check: "settings",
        says: "COLLECTOR_FILES has no effect any more: delete it; NONSENSE is not read.",
      }),
    );
  });

  it("need the option --operator, and a file", async () => {
    const cli = createCommandLine({});
    expect(await cli.run(["doctor", "--settings", "x"])).toMatchObject({ code: 2 });
    const { code, stderr } = await cli.run(["doctor", "--operator", "--settings", join(folder, "none")]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/settings .*none cannot be read/)]);
  });
});
