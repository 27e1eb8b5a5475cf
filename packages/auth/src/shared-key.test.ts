import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { pino } from "pino";
import { createApiKey, type KeyService } from "./api-key.js";
import { createKeyDirectory, type KeyDirectory } from "./key-directory.js";

const { pool, directUrl: connectionString } = useDatabase();
const directories: KeyDirectory[] = [];
afterEach(() => Promise.all(directories.splice(0).map((directory) => directory.stop())));

const begin = Date.parse("2026-01-01T10:00:00Z");
const hourMs = 3_600_000;

/** A directory with a clock of its own, which counts its look-ups. */
function openDirectory(service: KeyService = "analytics") {
  const state = { millis: begin, lookUps: 0 };
  const counted = new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (property !== "query") return value;
      return (...args: [{ name?: string }]) => {
        if (args[0].name === "find-key") state.lookUps++;
        return target.query(...(args as unknown as [string]));
      };
    },
  });
  const log = pino({ level: "silent" });
  const directory = createKeyDirectory({ service, pool: counted, connectionString, log, now: () => state.millis });
  directories.push(directory);
  return { directory, state };
}

async function shareSite(expiresAt: Date | null) {
  const [accountId, siteId, id] = [randomUUID(), randomUUID(), randomUUID()];
  const { key, hash } = createApiKey("analytics");
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
    accountId,
    `${accountId}@example.com`,
  ]);
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, 'a.example', 's')", [
    siteId,
    accountId,
  ]);
  await pool.query(
    `INSERT INTO api_key (id, account_id, service, name, hash, hint, site_id, expires_at)
     VALUES ($1, $2, 'share', 'k', $3, 'h', $4, $5)`,
    [id, accountId, hash, siteId, expiresAt],
  );
  return { key, id, siteId, principal: { accountId, siteId, keyId: id, plan: "pro", scope: "all" } };
}

const listening = () => new Promise((resolve) => setTimeout(resolve, 300));

/** Waits until a condition holds, for a few seconds. */
async function until(condition: () => Promise<boolean>) {
  for (let n = 0; n < 300 && !(await condition()); n++) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await condition()).toBe(true);
}

describe("a shared key", () => {
  it("acts for its account on its site alone, and opens no other service", async () => {
    const { key, principal } = await shareSite(null);
    expect(await openDirectory().directory.find(key)).toEqual(principal);
    const traces = openDirectory("trace");
    expect(await traces.directory.find(key)).toBeUndefined();
    expect(traces.state.lookUps).toBe(0);
  });

  it("ends at its moment, remembered or not, and is not looked up for it", async () => {
    const { key, principal } = await shareSite(new Date(begin + 30_000));
    const { directory, state } = openDirectory();
    await listening();
    state.millis = begin + 29_999;
    expect(await directory.find(key)).toEqual(principal);
    expect(directory.find(key)).toEqual(principal);
    state.millis = begin + 30_000;
    expect(directory.find(key)).toBeUndefined();
    expect(state.lookUps).toBe(1);
    state.millis = begin + hourMs;
    expect(await directory.find(key)).toBeUndefined();
    expect(state.lookUps).toBe(2);
    const fresh = openDirectory();
    fresh.state.millis = begin + 30_000;
    expect(await fresh.directory.find(key)).toBeUndefined();
  });

  it("was last used before its end", async () => {
    const { key, id } = await shareSite(new Date(begin + 1_000));
    const { directory, state } = openDirectory();
    await directory.find(key);
    state.millis = begin + 2_000;
    await directory.find(key);
    await directory.stop();
    const { rows } = await pool.query("SELECT last_used_at FROM api_key WHERE id = $1", [id]);
    expect(rows).toEqual([{ last_used_at: new Date(begin) }]);
  });

  it.each([
    ["is revoked", "UPDATE api_key SET revoked_at = now() WHERE site_id = $1"],
    ["gets another end", "UPDATE api_key SET expires_at = '2026-01-01T09:00:00Z' WHERE site_id = $1"],
    ["loses its site", "DELETE FROM site WHERE id = $1"],
  ])("is refused within a second when it %s", async (_, change) => {
    const { key, siteId } = await shareSite(new Date(begin + hourMs));
    const { directory } = openDirectory();
    await listening();
    expect(await directory.find(key)).toBeDefined();
    await pool.query(change, [siteId]);
    await until(async () => (await directory.find(key)) === undefined);
  });

  it("is not found by an earlier release, which looks for the service's own keys", async () => {
    const { id } = await shareSite(null);
    const { rows } = await pool.query("SELECT FROM api_key WHERE id = $1 AND service = 'analytics'", [id]);
    expect(rows).toEqual([]);
    const widened = pool.query("UPDATE api_key SET service = 'analytics' WHERE id = $1", [id]);
    await expect(widened).rejects.toThrow("api_key_share_check");
  });
});
