import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { hashApiKey } from "@waymark/auth";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const now = new Date("2026-06-01T12:00:00.500Z");
const { run, json } = createCommandLine({ DATABASE_URL: database.url }, () => now);

const domain = "shared.example";
let accountId = "";
let siteId = "";
beforeAll(async () => {
  ({ id: accountId } = await json<{ id: string }>("account", "create", "--email", "me@example.com", "--plan", "pro"));
  const args = ["site", "create", "--account", accountId, "--domain", domain, "--name", "My site"];
  ({ id: siteId } = await json<{ id: string }>(...args));
});

const share = (...args: string[]) =>
  json<{ id: string; key: string; expires_at: string | null }>("site", "share", "--site", siteId, ...args);

describe("site share", () => {
  it.each(["id", "domain"])("makes a key of the site by its %s, whose hash alone is stored", async (by) => {
    const shared = await json<{ id: string; key: string }>("site", "share", "--site", by === "id" ? siteId : domain);
    expect(shared).toEqual({ id: expect.any(String), key: expect.stringMatching(/^wmk_stats_/), expires_at: null });
    const { rows } = await database.pool.query("SELECT hash, site_id FROM api_key WHERE id = $1", [shared.id]);
    expect(rows).toEqual([{ hash: hashApiKey(shared.key), site_id: siteId }]);
  });

  it.each([
    ["30d", "2026-07-01T12:00:00.500Z"],
    ["45s", "2026-06-01T12:00:45.500Z"],
    ["2w", "2026-06-15T12:00:00.500Z"],
    ["2026-12-31", "2026-12-31T00:00:00.000Z"],
    ["2026-12-31T18:00:00+02:00", "2026-12-31T16:00:00.000Z"],
  ])("ends it at %s", async (until, end) => {
    const { id, expires_at } = await share("--until", until);
    expect(expires_at).toBe(end);
    const keys = await json<{ id: string; expires_at: string }[]>("key", "list", "--account", accountId);
    expect(keys.find((key) => key.id === id)?.expires_at).toBe(end);
  });

  it.each([
    ["2026-06-01", "--until must be in the future."],
    ["0d", "--until must be in the future."],
    ["2026-06-01T12:00:00.500Z", "--until must be in the future."],
    ["tomorrow", "30m, 2h, 7d or 2w from now, a UTC day"],
  ])("makes none until %s", async (until, sentence) => {
    const count = async () => (await database.pool.query("SELECT FROM api_key")).rowCount;
    const before = await count();
    const result = await run(["site", "share", "--site", siteId, "--until", until]);
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(sentence) });
    expect(await count()).toBe(before);
  });

  it("says for a reader what the key opens, and that it shows once", async () => {
    const { code, stdout } = await run(["site", "share", "--site", domain, "--until", "30d", "--name", "agency"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^id +[0-9a-f-]{36}\nkey +wmk_stats_\w+\nexpires_at +2026-07-01T12:00:00.500Z\n/);
    expect(stdout).toContain("Keep the key now");
    expect(stdout).toContain("the statistics of shared.example and nothing else");
    const list = await run(["key", "list", "--account", accountId]);
    expect(list.stdout).toMatch(
      /^ID +SERVICE +SCOPE +SITE +NAME +HINT +CREATED AT +LAST USED AT +EXPIRES AT +REVOKED AT\n/,
    );
    expect(list.stdout).toMatch(/ analytics +- +shared\.example +agency +wmk_stats_….{4} /);
  });

  it("fails for an unknown site, and for a domain of two sites", async () => {
    for (const site of [randomUUID(), "unknown.example"]) {
      const failed = await run(["site", "share", "--site", site]);
      expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("no site") });
    }
    const args = ["site", "create", "--account", accountId, "--domain", "twice.example", "--name", "Twice"];
    await json(...args);
    await json(...args);
    const twice = await run(["site", "share", "--site", "twice.example"]);
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining("Give the id of one") });
  });
});

describe("a shared key among the account's keys", () => {
  it("has its site there, is renamed and revoked as others, and goes with its site", async () => {
    const args = ["site", "create", "--account", accountId, "--domain", "gone.example", "--name", "Gone"];
    const site = await json<{ id: string }>(...args);
    const { id } = await json<{ id: string }>("site", "share", "--site", site.id);
    const listed = { id, service: "analytics", site_id: site.id, site: "gone.example", name: "shared statistics" };
    expect(await json("key", "list", "--account", accountId)).toContainEqual(expect.objectContaining(listed));
    expect(await json("key", "rename", id, "--name", "agency")).toMatchObject({ id, name: "agency" });
    const revoked = await json("key", "revoke", id);
    expect(revoked).toEqual({ id, revoked_at: expect.any(String) });
    await json("site", "delete", "--site", site.id, "--yes");
    expect(await json("key", "list", "--account", accountId)).not.toContainEqual(expect.objectContaining({ id }));
  });

  it("has neither site nor end where it is of the whole account", async () => {
    const { id } = await json<{ id: string }>(
      ...["key", "create", "--account", accountId, "--service", "analytics", "--name", "whole"],
    );
    const whole = { id, site_id: null, site: null, expires_at: null };
    expect(await json("key", "list", "--account", accountId)).toContainEqual(expect.objectContaining(whole));
  });
});
