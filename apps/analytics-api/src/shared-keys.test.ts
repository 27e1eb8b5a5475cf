import { describe, expect, it } from "@jest/globals";
import { issueKey, revokeKey, shareSite } from "@waymark/accounts";
import { createApiKey } from "@waymark/auth";
import request from "supertest";
import { useApp } from "./app.fixture.js";

const test = useApp();
const base = "/api/v1";
const now = new Date("2026-03-15T10:00:00Z");
const lines = [
  { ts: "2026-03-15T09:58:00Z", type: "pageview", path: "/" },
  { ts: "2026-03-15T09:59:00Z", type: "event", name: "signup", path: "/", props: { plan: "pro" } },
].map((line, n) => ({ ...line, visitor: `v${n}` }));

/** An account with two sites and a key of the first. */
async function shareOne(until?: Date) {
  test.setNow(now);
  const account = await test.makeAccount();
  const [siteId, otherId] = [await account.makeSite(lines, "a.example"), await account.makeSite(lines, "b.example")];
  const shared = await shareSite(test.pool, { siteId, name: "k", expiresAt: until ?? null });
  const get = (path: string, key = shared.key) => request(test.app).get(path).set("Authorization", `Bearer ${key}`);
  return { account, siteId, otherId, shared, get };
}

/** Every path of the API, as it describes itself. */
async function listPaths(): Promise<string[]> {
  const { body } = await request(test.app).get("/openapi.json").expect(200);
  return Object.keys(body.paths).filter((path) => path.startsWith(base));
}

/** Waits until the key has another status; fewer questions than a key has in a minute. */
async function until(status: number, ask: () => request.Test) {
  for (let n = 0; n < 25 && (await ask()).status !== status; n++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return ask().expect(status);
}

describe("a shared key", () => {
  it("reads of its site, on every route, the same as a key of the account", async () => {
    const { account, siteId, get } = await shareOne();
    const ofSites = (await listPaths()).filter((path) => path.includes("{id}"));
    expect(ofSites).toContain(`${base}/sites/{id}/stats`);
    for (const path of ofSites) {
      const own = path.replace("{id}", siteId);
      const { status, body } = await account.get(own);
      const answer = await get(own).expect(status);
      expect(answer.body).toEqual(body);
      expect(answer.headers).toMatchObject({ "ratelimit-limit": "60" });
    }
    const stats = await get(`${base}/sites/${siteId.toUpperCase()}/stats?range=today`).expect(200);
    expect(stats.body).toMatchObject({ pageviews: 1, uniqueVisitors: 1 });
    await get(`${base}/sites/${siteId}/stats?lists=topPages`).set("Accept", "text/csv").expect(200);
  });

  it("knows no other site, on every route, as if another account had it", async () => {
    const { otherId, get } = await shareOne();
    const stranger = await test.makeAccount();
    const foreign = await stranger.makeSite(lines, "c.example");
    for (const path of await listPaths()) {
      if (!path.includes("{id}")) continue;
      for (const id of [otherId, otherId.toUpperCase(), foreign, "unknown"]) {
        await get(path.replace("{id}", id)).expect(404, { error: "Site not found" });
      }
    }
    await get(`${base}/sites/${otherId}/stats?range=bad`).expect(400);
  });

  it("lists its site alone, and there is no further route without a site", async () => {
    const { account, siteId, shared, get } = await shareOne();
    expect((await listPaths()).filter((path) => !path.startsWith(`${base}/sites/{id}/`))).toEqual([`${base}/sites`]);
    const site = { id: siteId, domain: "a.example", name: "The a.example" };
    await get(`${base}/sites`).expect(200, { sites: [site] });
    expect((await account.get(`${base}/sites`).expect(200)).body.sites).toHaveLength(2);
    await request(test.app).delete(`${base}/sites`).set("Authorization", `Bearer ${shared.key}`).expect(405);
  });

  it("has 60 requests a minute of its own", async () => {
    const { account, get } = await shareOne();
    const answers = await Promise.all(Array.from({ length: 61 }, () => get(`${base}/sites`)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    await account.get(`${base}/sites`).expect(200);
  });

  it("is the same 401 as an unknown key from its end on", async () => {
    const { siteId, shared, get } = await shareOne(new Date(now.getTime() + 1_000));
    const path = `${base}/sites/${siteId}/stats`;
    test.setNow(new Date(now.getTime() + 999));
    await get(path).expect(200);
    test.setNow(new Date(now.getTime() + 1_000));
    const ended = await get(path).expect(401);
    const unknown = await get(path, createApiKey("analytics").key).expect(401);
    expect(ended.body).toEqual(unknown.body);
    expect(ended.headers["www-authenticate"]).toBe(unknown.headers["www-authenticate"]);
    expect(shared.expires_at).toBe("2026-03-15T10:00:01.000Z");
  });

  it("is refused within a second once it is revoked, and the account's other keys go on", async () => {
    const { account, shared, get } = await shareOne();
    await get(`${base}/sites`).expect(200);
    await revokeKey(test.pool, { keyId: shared.id });
    await until(401, () => get(`${base}/sites`));
    await account.get(`${base}/sites`).expect(200);
  });

  it("is refused once its site is deleted", async () => {
    const { siteId, get } = await shareOne();
    await get(`${base}/sites`).expect(200);
    await test.pool.query("DELETE FROM site WHERE id = $1", [siteId]);
    await until(401, () => get(`${base}/sites`));
  });

  it("needs Pro as others do, also after a downgrade", async () => {
    const { account, siteId, get } = await shareOne();
    const path = `${base}/sites/${siteId}/stats`;
    await get(path).expect(200);
    await test.pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [account.id]);
    const { body } = await until(403, () => get(path));
    expect(body).toEqual({
      error: expect.stringMatching(/^The API requires a Pro plan/),
      upgrade_url: "/dashboard/billing",
    });
  });
});

describe("a key of the account", () => {
  it("reads every site, beside shared ones", async () => {
    const { account, siteId, otherId, get } = await shareOne();
    const { key } = await issueKey(test.pool, { accountId: account.id, service: "analytics", name: "whole" });
    for (const id of [siteId, otherId]) await get(`${base}/sites/${id}/stats`, key).expect(200);
  });
});
