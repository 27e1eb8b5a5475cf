import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { pino } from "pino";
import { createApiKey } from "./api-key.js";
import { createKeyDirectory, type KeyDirectory } from "./key-directory.js";
import type { Slots } from "./slots.js";

const database = useDatabase();
const log = pino({ level: "silent" });
const directories: KeyDirectory[] = [];
afterEach(() => Promise.all(directories.splice(0).map((directory) => directory.stop())));

function openDirectory(now: () => number = Date.now, maxEntries = 10_000, slots?: Slots) {
  const asked: string[] = [];
  const pool = new Proxy(database.pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (property !== "query") return value;
      return (...args: [{ name?: string }]) => {
        asked.push(args[0].name ?? "");
        return target.query(...(args as unknown as [string]));
      };
    },
  });
  const directory = createKeyDirectory({
    service: "trace",
    pool,
    connectionString: database.directUrl,
    log,
    now,
    maxEntries,
    ...(slots && { slots }),
  });
  directories.push(directory);
  return { directory, lookups: () => asked.filter((name) => name === "find-key").length };
}

/** An account with a key of the trace service, as `packages/accounts` makes them. */
async function makeKey(plan: "free" | "pro" = "free") {
  const [accountId, id] = [randomUUID(), randomUUID()];
  const { key, hash, hint } = createApiKey("trace");
  await database.pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [
    accountId,
    `${accountId}@example.com`,
    plan,
  ]);
  await database.pool.query(
    "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'trace', 'k', $3, $4)",
    [id, accountId, hash, hint],
  );
  return { accountId, id, key };
}

const revokeKey = (id: string, at = new Date()) =>
  database.pool.query("UPDATE api_key SET revoked_at = $2 WHERE id = $1", [id, at]);

async function lastUseOf(accountId: string): Promise<string | undefined> {
  const { rows } = await database.pool.query("SELECT last_used_at FROM api_key WHERE account_id = $1", [accountId]);
  return rows[0]?.last_used_at?.toISOString();
}

/** The listener opens in the background; before that nothing is remembered for long. */
const listening = () => new Promise((resolve) => setTimeout(resolve, 300));

/** Waits until a condition holds; jest's limit ends what never comes. */
async function until(condition: () => Promise<boolean>) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("createKeyDirectory", () => {
  it("finds whom a key acts for, and asks the database once", async () => {
    const { directory, lookups } = openDirectory();
    await listening();
    const { key, id, accountId } = await makeKey("pro");
    const found = await Promise.all(Array.from({ length: 50 }, () => directory.find(key)));
    for (const principal of found) expect(principal).toEqual({ accountId, keyId: id, plan: "pro", scope: "all" });
    await directory.find(key);
    expect(lookups()).toBe(1);
  });

  it("refuses malformed keys without asking the database, and unknown ones after asking", async () => {
    const { directory, lookups } = openDirectory();
    expect(await directory.find("wmk_trace_nonsense")).toBeUndefined();
    expect(await directory.find(createApiKey("analytics").key)).toBeUndefined();
    expect(lookups()).toBe(0);
    expect(await directory.find(createApiKey("trace").key)).toBeUndefined();
    expect(lookups()).toBe(1);
  });

  it("refuses another cell's keys without asking the database", async () => {
    const { key } = await makeKey();
    const here = openDirectory(Date.now, 100, new Set(["00", "a3"]));
    const elsewhere = openDirectory(Date.now, 100, new Set(["01"]));
    expect(await here.directory.find(key)).toBeDefined();
    expect(await elsewhere.directory.find(key)).toBeUndefined();
    expect(elsewhere.lookups()).toBe(0);
  });

  it("refuses a revoked key within a second, on every instance", async () => {
    const [one, other] = [openDirectory().directory, openDirectory().directory];
    await listening();
    const { key, id } = await makeKey();
    expect(await one.find(key)).toBeDefined();
    expect(await other.find(key)).toBeDefined();
    await revokeKey(id);
    await until(async () => (await one.find(key)) === undefined && (await other.find(key)) === undefined);
  });

  it("knows a changed plan within a second", async () => {
    const { directory } = openDirectory();
    await listening();
    const { key, accountId } = await makeKey("free");
    expect((await directory.find(key))?.plan).toBe("free");
    await database.pool.query("UPDATE account SET plan = 'pro' WHERE id = $1", [accountId]);
    await until(async () => (await directory.find(key))?.plan === "pro");
  });

  it("trusts what it remembers for a few seconds only while changes are not heard", async () => {
    let millis = 0;
    const asked: string[] = [];
    const directory = createKeyDirectory({
      service: "trace",
      pool: database.pool,
      connectionString: "postgres://nobody@127.0.0.1:1/none",
      log: pino({ level: "warn" }, { write: (line: string) => void asked.push(line) }),
      now: () => millis,
    });
    directories.push(directory);
    await listening();
    const { key, id } = await makeKey();
    expect(await directory.find(key)).toBeDefined();
    await revokeKey(id);
    millis = 3_001;
    expect(await directory.find(key)).toBeUndefined();
    expect(asked.length).toBeGreaterThan(0);
  });

  it("forgets what it remembered while changes were not heard, as soon as they are heard again", async () => {
    // This clock stands, so nothing expires.
    const { directory } = openDirectory(() => 0);
    await listening();
    const { key, id } = await makeKey();
    await database.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark access listener'",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await directory.find(key)).toBeDefined();
    await revokeKey(id);
    await until(async () => (await directory.find(key)) === undefined);
  });

  it("looks keys up again after a minute, whatever was heard", async () => {
    let millis = 0;
    const { directory, lookups } = openDirectory(() => millis);
    await listening();
    const { key } = await makeKey();
    await directory.find(key);
    millis = 60_000;
    await directory.find(key);
    expect(lookups()).toBe(1);
    millis = 60_001;
    await directory.find(key);
    expect(lookups()).toBe(2);
  });

  it("keeps a bounded number of keys, and those that were used last", async () => {
    const { directory, lookups } = openDirectory(Date.now, 2);
    await listening();
    const keys = [await makeKey(), await makeKey(), await makeKey()].map(({ key }) => key);
    const [first = "", second = "", third = ""] = keys;
    for (const key of [first, second, first, third]) await directory.find(key);
    expect(lookups()).toBe(3);
    await directory.find(first);
    await directory.find(third);
    expect(lookups()).toBe(3);
    await directory.find(second);
    expect(lookups()).toBe(4);
  });

  it("writes down that a key was used when it stops", async () => {
    const { directory } = openDirectory();
    const { key, accountId } = await makeKey();
    await directory.find(key);
    expect(await lastUseOf(accountId)).toBeUndefined();
    await directory.stop();
    expect(await lastUseOf(accountId)).toBeDefined();
  });

  it("writes down the moment of the use, and none after the revocation", async () => {
    let millis = Date.parse("2026-01-01T10:00:00Z");
    const { directory } = openDirectory(() => millis);
    const [used, revoked] = [await makeKey(), await makeKey()];
    for (const { key } of [used, revoked]) await directory.find(key);
    const revokedAt = new Date("2026-01-01T09:59:59.500Z");
    await revokeKey(revoked.id, revokedAt);
    millis += 30_000;
    await directory.stop();
    expect(await lastUseOf(used.accountId)).toBe("2026-01-01T10:00:00.000Z");
    expect(await lastUseOf(revoked.accountId)).toBe(revokedAt.toISOString());
  });

  it("does not answer a request that comes after a revocation by a look-up that began before it", async () => {
    const asked: (() => void)[] = [];
    // Holds back the answer of the first look-up, as a slow network does.
    const pool = new Proxy(database.pool, {
      get(target, property) {
        if (property !== "query") return Reflect.get(target, property);
        return async (...args: [string]) => {
          const answer = await target.query(...args);
          await new Promise<void>((resolve) => {
            if (asked.push(resolve) > 1) resolve();
          });
          return answer;
        };
      },
    });
    const directory = createKeyDirectory({ service: "trace", pool, connectionString: database.directUrl, log });
    directories.push(directory);
    await listening();
    const { key, id, accountId } = await makeKey();
    const before = directory.find(key);
    await until(async () => asked.length === 1);
    await revokeKey(id);
    const joined = () => new Promise<string>((resolve) => setTimeout(resolve, 200, "joined"));
    await until(async () => (await Promise.race([directory.find(key), joined()])) === undefined);
    asked[0]?.();
    expect((await before)?.accountId).toBe(accountId);
    expect(await directory.find(key)).toBeUndefined();
  });
});
