import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { hashApiKey } from "@waymark/auth";
import { useDatabase, useEmptyDatabase } from "@waymark/testing";
import { lockSites } from "@waymark/web-stats/analytics";
import { createCommandLine } from "./command-line.fixture.js";
import { localSystemFile } from "./local-system.js";

const database = useDatabase();
const { run, json, start } = createCommandLine({ DATABASE_URL: database.url });

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const newEmail = () => `${randomUUID()}@example.com`;
const newAccount = (plan = "free") =>
  json<{ id: string; email: string; plan: string }>("account", "create", "--email", newEmail(), "--plan", plan);

describe("account", () => {
  it("creates an account and prints one JSON object", async () => {
    const email = newEmail();
    const { code, stdout, stderr } = await run(["account", "create", "--email", email, "--plan", "pro", "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(stdout)).toEqual({ id: expect.stringMatching(uuid), email, plan: "pro" });
  });

  it("takes --json before, between and after the words of a command", async () => {
    for (const args of [
      ["--json", "account", "list"],
      ["account", "--json", "list"],
      ["account", "list", "--json"],
    ]) {
      const { stdout } = await run(args);
      expect(Array.isArray(JSON.parse(stdout))).toBe(true);
    }
  });

  it("lists accounts as aligned text without --json", async () => {
    const account = await newAccount();
    const { stdout } = await run(["account", "list"]);
    expect(stdout).toMatch(/^ID {2,}EMAIL {2,}PLAN\n/);
    expect(stdout).toContain(`${account.id}  ${account.email}  free`);
  });

  it("changes a plan", async () => {
    const account = await newAccount();
    expect(await json("account", "plan", account.id, "--plan", "pro")).toEqual({ ...account, plan: "pro" });
    expect(await json("account", "list")).toContainEqual({ ...account, plan: "pro" });
  });

  it("fails with a sentence on standard error and nothing on standard output", async () => {
    const account = await newAccount();
    for (const [args, sentence] of [
      [["create", "--email", account.email, "--plan", "pro"], `There is an account with the address ${account.email}`],
      [["create", "--email", "nobody", "--plan", "pro"], "'nobody' is not an email address."],
      [["plan", randomUUID(), "--plan", "pro"], "There is no account"],
      [["plan", "1; DROP TABLE account", "--plan", "pro"], "There is no account"],
    ] as const) {
      const { code, stdout, stderr } = await run(["account", ...args, "--json"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(sentence);
      expect(stderr.trim().split("\n")).toHaveLength(1);
    }
  });
});

describe("account change and delete", () => {
  it("gives an account another address, but not one that another account has", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const email = newEmail();
    expect(await json("account", "change", "--account", account.id, "--email", email)).toEqual({ ...account, email });
    for (const [taken, sentence] of [
      [other.email, "There is an account with the address"],
      ["nobody", "'nobody' is not an email address."],
    ] as const) {
      const result = await run(["account", "change", "--account", account.id, "--email", taken]);
      expect(result).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(sentence) });
    }
    expect(await run(["account", "change", "--account", randomUUID(), "--email", newEmail()])).toMatchObject({
      code: 1,
    });
  });

  it("removes an account with all that it has once told --yes, and only says what that is before", async () => {
    const account = await newAccount("pro");
    await json("key", "create", "--account", account.id, "--service", "trace", "--name", "laptop");
    const site = await json<{ id: string }>(
      ...["site", "create", "--account", account.id, "--domain", `${randomUUID()}.example`, "--name", "s"],
    );
    await database.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, gen_random_uuid(), 'a', 'n', 'error', now() FROM generate_series(1, 3)`,
      [account.id],
    );
    await database.pool.query("INSERT INTO daily_size VALUES ($1, '2026-01-01', 'page', 1)", [site.id]);
    const args = ["account", "delete", "--account", account.id];
    const what = `the account ${account.email} with 1 key, 1 site with all statistics, 3 traces`;
    expect(await run(args)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `This removes ${what}, for good. Add --yes to do it.\n`,
    });
    expect(await json("account", "list")).toContainEqual(account);
    expect(await json(...args, "--yes")).toMatchObject({
      id: account.id,
      removed: { trace: 3, daily_size: 1, site: 1, account: 1 },
      complete: true,
    });
    expect(await json("account", "list")).not.toContainEqual(account);
    expect(await run([...args, "--yes"])).toMatchObject({ code: 1, stderr: expect.stringContaining("no account") });
    const left = `SELECT (SELECT count(*) FROM trace WHERE account_id = $1) + (SELECT count(*) FROM api_key WHERE account_id = $1)
      + (SELECT count(*) FROM daily_size WHERE site_id = $2) AS n`;
    expect((await database.pool.query(left, [account.id, site.id])).rows).toEqual([{ n: "0" }]);
  });
});

describe("site rename and delete", () => {
  it("changes name and domain by the rules of a new site", async () => {
    const [one, two] = [await newAccount(), await newAccount()];
    const domain = `${randomUUID()}.example`;
    const make = (accountId: string, host: string) =>
      json<{ id: string }>("site", "create", "--account", accountId, "--domain", host, "--name", "s");
    const [mine, theirs] = [await make(one.id, domain), await make(two.id, `other-${domain}`)];
    expect(await json("site", "rename", "--site", mine.id, "--name", "My shop")).toEqual({
      id: mine.id,
      domain,
      name: "My shop",
    });
    const moved = ["site", "rename", "--site", theirs.id, "--name", "t", "--domain", domain];
    expect(await run(moved)).toMatchObject({ code: 1, stderr: expect.stringContaining("belongs to another account") });
    await json("site", "rename", "--site", mine.id, "--name", "My shop", "--domain", `https://New-${domain}/`);
    expect(await json(...moved)).toEqual({ id: theirs.id, domain, name: "t" });
    expect(await json("site", "costs", "--site", mine.id)).toMatchObject({ id: mine.id, countsCosts: true });
    expect(await json("site", "costs", "--site", mine.id, "--off")).toMatchObject({ countsCosts: false });
    for (const args of [
      ["--site", randomUUID(), "--name", "x"],
      ["--site", mine.id, "--name", " "],
    ]) {
      expect(await run(["site", "rename", ...args])).toMatchObject({ code: 1, stdout: "" });
    }
  });

  it("removes a site with its figures once told --yes", async () => {
    const { id: accountId } = await newAccount();
    const domain = `${randomUUID()}.example`;
    const site = await json<{ id: string }>(
      "site",
      "create",
      "--account",
      accountId,
      "--domain",
      domain,
      "--name",
      "s",
    );
    await database.pool.query("INSERT INTO daily_size VALUES ($1, '2026-01-01', 'page', 1)", [site.id]);
    const args = ["site", "delete", "--site", site.id];
    expect(await run(args)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("Add --yes to do it."),
    });
    expect(await json(...args, "--yes")).toMatchObject({ removed: { daily_size: 1, site: 1 }, complete: true });
    expect(await json("site", "list", "--account", accountId)).toEqual([]);
    expect(await run([...args, "--yes"])).toMatchObject({ code: 1, stderr: expect.stringContaining("no site") });
  });
});

describe("key", () => {
  it("creates a key whose hash alone is stored, lists it without it, and revokes it", async () => {
    const { id: accountId } = await newAccount();
    const key = await json<{ id: string; key: string }>(
      ...["key", "create", "--account", accountId, "--service", "trace", "--name", "my laptop"],
    );
    expect(key).toEqual({
      id: expect.stringMatching(uuid),
      service: "trace",
      scope: "all",
      name: "my laptop",
      key: expect.stringMatching(/^wmk_trace_/),
    });
    const { rows } = await database.pool.query("SELECT hash, revoked_at FROM api_key WHERE id = $1", [key.id]);
    expect(rows).toEqual([{ hash: hashApiKey(key.key), revoked_at: null }]);

    const listed = await json<Record<string, unknown>[]>("key", "list", "--account", accountId);
    expect(listed).toMatchObject([{ id: key.id, service: "trace", name: "my laptop", revoked_at: null }]);
    expect(JSON.stringify(listed)).not.toContain(key.key);

    const revoked = await json("key", "revoke", key.id);
    expect(revoked).toEqual({ id: key.id, revoked_at: expect.any(String) });
    expect(await json("key", "revoke", key.id)).toEqual(revoked);
  });

  it("creates a key of a scope, which the list shows; only keys of the trace API have one", async () => {
    const { id } = await newAccount();
    const create = (service: string) =>
      run(["key", "create", "--account", id, "--service", service, "--scope", "ingest", "--name", "x"]);
    expect(await create("trace")).toMatchObject({ code: 0 });
    expect(await json("key", "list", "--account", id)).toMatchObject([{ service: "trace", scope: "ingest" }]);
    const problem = expect.stringContaining("Only keys of the trace API have a scope.");
    expect(await create("analytics")).toMatchObject({ code: 1, stderr: problem });
  });

  it("fails for an unknown account, key or service", async () => {
    expect(await run(["key", "list", "--account", randomUUID()])).toMatchObject({ code: 1, stdout: "" });
    expect(await run(["key", "revoke", randomUUID()])).toMatchObject({ code: 1, stdout: "" });
    const { id } = await newAccount();
    expect(await run(["key", "create", "--account", id, "--service", "mail", "--name", "x"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Allowed choices are trace, analytics."),
    });
  });
});

describe("site", () => {
  it("creates a site with its domain in normal form, and lists it", async () => {
    const { id: accountId } = await newAccount();
    const args = ["site", "create", "--account", accountId, "--domain", "https://Example.com/", "--name", "My site"];
    const site = await json(...args);
    expect(site).toEqual({ id: expect.stringMatching(uuid), domain: "example.com", name: "My site" });
    expect(await json("site", "list", "--account", accountId)).toEqual([site]);
  });

  it("allows a domain twice in an account, and says so", async () => {
    const { id: accountId } = await newAccount();
    const args = ["site", "create", "--account", accountId, "--domain", "twice.example", "--name", "Again", "--json"];
    expect((await run(args)).stderr).toBe("");
    const second = await run(args);
    expect(second).toMatchObject({
      code: 0,
      stderr: "Note: the domain twice.example has another site. Both get its events.\n",
    });
    expect(JSON.parse(second.stdout)).toMatchObject({ domain: "twice.example" });
  });

  it("refuses domains and names that are none", async () => {
    const { id: accountId } = await newAccount();
    for (const [domain, name] of [
      ["not a domain", "x"],
      ["example.com", " "],
      ["example.com", "x".repeat(201)],
    ] as const) {
      const result = await run(["site", "create", "--account", accountId, "--domain", domain, "--name", name]);
      expect(result).toMatchObject({ code: 1, stdout: "" });
    }
  });
});

describe("usage", () => {
  it("counts what the account used of its plan in this month", async () => {
    const account = await newAccount("free");
    const lastSecond = createCommandLine({ DATABASE_URL: database.url }, () => new Date("2026-05-31T23:59:59Z"));
    await database.pool.query(
      "INSERT INTO trace_usage VALUES ($1, '2026-05-01', 17, 1234567), ($1, '2026-04-01', 900, 9)",
      [account.id],
    );
    await database.pool.query("INSERT INTO agent (account_id, id) VALUES ($1, 'a')", [account.id]);
    expect(await lastSecond.json("usage", "--account", account.id)).toMatchObject({
      month: "2026-05",
      plan: "free",
      traces: { current: 17, limit: 1000 },
      bytes: { current: 1_234_567, limit: 256_000_000 },
      agents: { current: 1, limit: 1 },
      resets_at: "2026-06-01T00:00:00.000Z",
      resets_in_seconds: 1,
    });
  });

  it("rebuild compares the sums of model calls, of one account or all, and mends them", async () => {
    const { id } = await newAccount("pro");
    expect(await json("usage", "rebuild", "--account", id, "--check")).toEqual({
      accounts: 1,
      differences: 0,
      mended: false,
    });
    await database.pool.query(
      `INSERT INTO model_day VALUES ($1, current_date, 'a', 'openai', 'gpt-4o', 1, 0, 5, 0, 0, 0, 0, 0)`,
      [id],
    );
    const all = await run(["usage", "rebuild", "--check"]);
    expect([all.code, all.stdout]).toEqual([1, expect.stringContaining("gpt-4o: stored 1 calls, counted 0")]);
    expect(await json("usage", "rebuild", "--account", id)).toMatchObject({ differences: 1, mended: true });
    expect((await run(["usage", "rebuild", "--check"])).code).toBe(0);
    expect((await run(["usage"])).code).toBe(2);
  });

  it("has no limit of agents for Pro", async () => {
    const { id } = await newAccount("pro");
    expect(await json("usage", "--account", id)).toMatchObject({
      traces: { current: 0, limit: 50_000 },
      agents: { current: 0, limit: null },
    });
    expect((await run(["usage", "--account", id])).stdout).toMatch(
      /bytes +0 of 25,000,000,000\nagents +0 of any number/,
    );
  });
});

describe("alert", () => {
  it("lists alerts newest first, those that failed alone with --failed, and makes a failed one pending again", async () => {
    const { id: accountId } = await newAccount("pro");
    const [failed, sent] = ["01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"];
    await database.pool.query(
      `INSERT INTO alert (account_id, id, trace_id, status, sent_at, failed_at, attempts, last_error) VALUES
       ($1, $2, $4, 'error', NULL, now(), 8, 'the address bounced'), ($1, $3, $4, 'timeout', now(), NULL, 1, NULL)`,
      [accountId, failed, sent, randomUUID()],
    );
    expect(await json("alert", "list", "--account", accountId)).toMatchObject([
      { id: sent, state: "sent" },
      { id: failed, state: "failed", attempts: 8, last_error: "the address bounced" },
    ]);
    expect(await json("alert", "list", "--account", accountId, "--failed")).toMatchObject([{ id: failed }]);
    expect(await json("alert", "list", "--account", accountId, "--limit", "1")).toMatchObject([{ id: sent }]);

    expect(await json("alert", "retry", failed)).toMatchObject({ id: failed, state: "pending", attempts: 0 });
    const { rows } = await database.pool.query("SELECT failed_at FROM alert WHERE id = $1", [failed]);
    expect(rows).toEqual([{ failed_at: null }]);

    await database.pool.query("UPDATE alert SET held_until = now(), failures = 9 WHERE id = $1", [failed]);
    expect(await json("alert", "list", "--account", accountId)).toMatchObject([
      { id: sent, state: "sent", summary_id: null },
      { id: failed, state: "held", failures: 9, summary_id: null },
    ]);
    const summary = randomUUID();
    await database.pool.query("UPDATE alert SET summary_id = $1 WHERE account_id = $2", [summary, accountId]);
    expect(await run(["alert", "retry", failed])).toMatchObject({ code: 1, stderr: expect.stringContaining(summary) });
    expect(await json("alert", "list", "--account", accountId)).toMatchObject([
      { id: sent, state: "sent", summary_id: summary },
      { id: failed, state: "held", summary_id: summary },
    ]);

    expect(await run(["alert", "retry", sent])).toMatchObject({ code: 1, stderr: expect.stringContaining("was sent") });
    expect(await run(["alert", "retry", randomUUID()])).toMatchObject({ code: 1 });
  });
});

describe("wrong usage", () => {
  it.each([
    [["acount"], "Unknown command 'acount'. Did you mean account?"],
    [["account", "creat"], "Unknown command 'creat'. Did you mean create?"],
    [["account", "list", "--jsn"], "Unknown option '--jsn'. Did you mean --json?"],
    [["account", "create", "--emial=a@example.com", "--plan", "pro"], "Unknown option '--emial=a@example.com'."],
    [["account", "create", "--plan", "pro"], "Required option '--email <address>' not specified."],
    [["account", "plan", "a", "b", "--plan", "pro"], "Too many arguments"],
    [["alert", "list", "--account", "a", "--limit", "x"], "It must be a whole number from 1 to 10000."],
    [[], "Usage: waymark"],
  ])("answers %j with a sentence and exit code 2", async (args, sentence) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(sentence);
  });

  it("shows help on standard output when it is asked for", async () => {
    for (const args of [["--help"], ["help", "import"], ["site", "create", "-h"]]) {
      expect(await run(args)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/\$ waymark/) });
    }
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: "1.2.3\n" });
  });
});

/** At its exit a process says whether it loaded the network, as the modules of every database and service do. */
const tellsOfNetwork =
  "--import=data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.moduleLoadList.includes('NativeModule%20tls'))))";

describe("the built command", () => {
  it("loads the modules of its own command alone", async () => {
    const { start: startWatched } = createCommandLine({ NODE_OPTIONS: tellsOfNetwork, WAYMARK_TRACE_KEY: "" });
    const [help, failures] = [startWatched(["--help"]), startWatched(["failures", "--account", "none"])];
    expect(await help.result).toMatchObject({ code: 0, stderr: expect.stringMatching(/false$/) });
    expect(await failures.result).toMatchObject({ code: 1, stderr: expect.stringMatching(/true$/) });
  });

  it("prints one JSON object and ends with 0", async () => {
    const { code, stdout, stderr } = await start([
      "account",
      "create",
      "--email",
      newEmail(),
      "--plan",
      "pro",
      "--json",
    ]).result;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({ plan: "pro" });
  });

  it("ends with 1 after a failure and with 2 after wrong usage", async () => {
    const [failed, wrong] = await Promise.all([
      start(["usage", "--account", "none", "--json"]).result,
      start(["usage", "--acount", "none", "--json"]).result,
    ]);
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^There is no account 'none'/) });
    expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^Unknown option '--acount'/) });
  });

  it("knows its version and lets its reader go", async () => {
    const [version, help] = [start(["--version"]), start(["--help"])];
    // Reading what the other one says fails, since it says it to nobody.
    help.result.catch(() => undefined);
    help.child.stdout.destroy();
    const ended = once(help.child, "exit");
    expect(await version.result).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(await ended).toEqual([0, null]);
  });
});

describe("the database", () => {
  const empty = useEmptyDatabase();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-cli-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("is that of the running local system where DATABASE_URL is not set", async () => {
    await writeFile(localSystemFile(folder), JSON.stringify({ pid: 1, processStart: "x", databaseUrl: database.url }));
    const local = createCommandLine({ WAYMARK_DATA_DIR: folder });
    expect(await local.json("account", "list")).toEqual(await json("account", "list"));
  });

  it("is missed with a sentence where no local system runs, or one was killed, or one is starting", async () => {
    const local = createCommandLine({ WAYMARK_DATA_DIR: join(folder, "nothing here") });
    expect(await local.run(["account", "list", "--json"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^No local system is running in .*nothing here\. Start it with .* DATABASE_URL/),
    });
    const stale = createCommandLine({ WAYMARK_DATA_DIR: folder });
    const gone = "postgres://waymark:secret@127.0.0.1:1/waymark";
    await writeFile(localSystemFile(folder), JSON.stringify({ pid: 1, processStart: "x", databaseUrl: gone }));
    expect((await stale.run(["account", "list"])).stderr).toMatch(/^No local system is running/);
    await writeFile(localSystemFile(folder), JSON.stringify({ pid: 1, processStart: "x" }));
    expect((await stale.run(["account", "list"])).stderr).toMatch(/still starting/);
    await writeFile(localSystemFile(folder), "{half");
    expect((await stale.run(["account", "list"])).stderr).toMatch(/^No local system is running/);
  });

  it("that cancels a statement is not said to be out of reach", async () => {
    const { id: accountId } = await newAccount();
    const domain = `${randomUUID()}.example`;
    const site = await json<{ id: string }>(
      ...["site", "create", "--account", accountId, "--domain", domain, "--name", "s"],
    );
    await run(["import", "--site", site.id, "--file", "-"], JSON.stringify({ ts: new Date(), path: "/" }));
    await database.pool.query("UPDATE daily_stat SET visitors = 9 WHERE site_id = $1", [site.id]);
    const holder = await database.pool.connect();
    await holder.query("BEGIN");
    await lockSites(holder, [site.id]);
    const rebuilt = run(["rollup", "rebuild", "--site", site.id]);
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_locks JOIN pg_database AS own ON own.oid = database
      WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;
    while ((await database.pool.query(cancel)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const { code, stderr } = await rebuilt;
    await holder.query("ROLLBACK");
    holder.release();
    expect(code).toBe(1);
    expect(stderr).toContain("The database cancelled a statement: canceling statement due to user request.");
  });

  it("that cannot be reached is named without its password", async () => {
    const { code, stderr } = await createCommandLine({
      DATABASE_URL: "postgres://waymark:secret@127.0.0.1:1/waymark",
    }).run(["account", "list"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database at 127\.0\.0\.1:1\/waymark \(DATABASE_URL\) cannot be reached: .*\.\n$/);
    expect(stderr).not.toContain("secret");
  });

  it("that refuses the user or does not exist is named", async () => {
    const url = new URL(database.url);
    url.pathname = "/nowhere";
    const missing = await createCommandLine({ DATABASE_URL: url.href }).run(["account", "list"]);
    expect(missing.stderr).toMatch(/refuses the connection: database "nowhere" does not exist\.\n$/);
    url.password = "wrong";
    const wrong = await createCommandLine({ DATABASE_URL: url.href }).run(["account", "list"]);
    expect(wrong.stderr).toMatch(/refuses the connection: password authentication failed/);
    const malformed = await createCommandLine({ DATABASE_URL: "localhost" }).run(["account", "list"]);
    expect(malformed).toMatchObject({ code: 1, stderr: expect.stringContaining("must be URLs that start with") });
  });

  it("that is not migrated says what to run, and that command migrates it once", async () => {
    const fresh = createCommandLine({ DATABASE_URL: empty.url });
    expect((await fresh.run(["account", "list"])).stderr).toMatch(/Run 'waymark migrate', then try again\.\n$/);
    expect(await fresh.json("migrate")).toMatchObject({
      applied: expect.arrayContaining([expect.stringMatching(/_init$/)]),
    });
    expect(await fresh.json("migrate")).toEqual({ applied: [] });
    expect(await fresh.json("account", "list")).toEqual([]);
  });
});
