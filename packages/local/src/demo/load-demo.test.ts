import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { hashApiKey } from "@waymark/auth";
import { useDatabase } from "@waymark/testing";
import { loadDemo } from "./load-demo.js";
import { planVisits } from "./load-visits.js";

const database = useDatabase();
let dataFolder: string;
beforeAll(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "waymark-demo-"));
});
afterAll(() => rm(dataFolder, { recursive: true, force: true }));
const { signal } = new AbortController();
const load = (now = new Date()) =>
  loadDemo({ databaseUrl: database.directUrl, dataFolder, now, say: () => undefined, signal });

/** The number of events after the first load. */
let visits = 0;

async function countPlanned(now: Date): Promise<number> {
  const planned = [planVisits("semicomplete.com", now.getTime()), planVisits("adver.tools", now.getTime())];
  return (await Promise.all(planned)).flat().length;
}

async function countRows(table: string): Promise<number> {
  const { rows } = await database.pool.query(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0].count;
}

describe("the demo", () => {
  it("has a Free and a Pro account, each with keys of both services and a site whose visits fill the last 60 days", async () => {
    const now = new Date();
    const { accounts } = await load(now);
    const { rows } = await database.pool.query("SELECT id, plan FROM account ORDER BY plan");
    expect(rows).toEqual([
      { id: accounts.free.id, plan: "free" },
      { id: accounts.pro.id, plan: "pro" },
    ]);
    for (const { id, keys, site } of Object.values(accounts)) {
      for (const [service, key] of Object.entries(keys)) {
        const found = await database.pool.query("SELECT service, account_id FROM api_key WHERE hash = $1", [
          hashApiKey(key),
        ]);
        expect(found.rows).toEqual([{ service, account_id: id }]);
      }
      const found = await database.pool.query(
        "SELECT min(at) AS first, max(at) AS last FROM event WHERE site_id = $1",
        [site.id],
      );
      const ageDays = (at: Date) => (now.getTime() - at.getTime()) / (24 * 3_600_000);
      expect(ageDays(found.rows[0].last)).toBeLessThan(1);
      expect(ageDays(found.rows[0].first)).toBeGreaterThan(58);
    }
    visits = await countPlanned(now);
    expect(visits).toBeGreaterThan(5_000);
    expect(await countRows("event")).toBe(visits);
    expect((await stat(join(dataFolder, "demo.json"))).mode & 0o777).toBe(0o600);
  });

  it("holds no addresses", async () => {
    const { rows } = await database.pool.query("SELECT event::text AS line FROM event");
    for (const { line } of rows) expect(line).not.toMatch(/,\d{1,3}(\.\d{1,3}){3},/);
  });

  it("shows countries of both sites", async () => {
    const { rows } = await database.pool.query(
      "SELECT site_id, count(DISTINCT value)::int AS countries FROM daily_stat WHERE dimension = 'country' GROUP BY site_id",
    );
    expect(rows).toHaveLength(2);
    for (const { countries } of rows) expect(countries).toBeGreaterThan(3);
  });

  it("stays the same at the next start: same keys, no visit twice", async () => {
    const before = await load();
    const keys = await countRows("api_key");
    const again = await load(new Date(Date.now() + 3_600_000));
    expect(again.accounts).toEqual(before.accounts);
    expect([await countRows("api_key"), await countRows("event")]).toEqual([keys, visits]);
  });

  it("repeats an interrupted load without counting twice", async () => {
    const file = join(dataFolder, "demo.json");
    const state = JSON.parse(await readFile(file, "utf8"));
    const { writeFile } = await import("node:fs/promises");
    await writeFile(file, JSON.stringify({ ...state, loaded: [] }));
    await load();
    expect(await countRows("event")).toBe(visits);
  });

  it("makes a new key where the old one was revoked or forgotten, and revokes what it replaces", async () => {
    const before = await load();
    await rm(join(dataFolder, "demo.json"));
    const { accounts } = await load();
    expect(accounts.pro.keys.trace).not.toBe(before.accounts.pro.keys.trace);
    const { rows } = await database.pool.query("SELECT revoked_at FROM api_key WHERE hash = $1", [
      hashApiKey(before.accounts.pro.keys.trace),
    ]);
    expect(rows[0].revoked_at).not.toBeNull();
  });
});
