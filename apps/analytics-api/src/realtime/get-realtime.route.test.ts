import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { useApp } from "../app.fixture.js";

const now = new Date("2026-03-15T10:00:00.500Z");

describe("GET /api/v1/sites/:id/realtime", () => {
  const test = useApp();

  describe("200", () => {
    it("counts the distinct visitors with a page view in the last five minutes, to the millisecond", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite([
        { ts: "2026-03-15T09:55:00.499Z", visitor: "too early", path: "/" },
        { ts: "2026-03-15T09:55:00.500Z", visitor: "just in time", path: "/" },
        { ts: "2026-03-15T09:58:00Z", visitor: "twice", path: "/" },
        { ts: "2026-03-15T09:59:00Z", visitor: "twice", path: "/about" },
        { ts: "2026-03-15T10:00:00.500Z", visitor: "now", path: "/" },
        { ts: "2026-03-15T10:00:00.501Z", visitor: "later", path: "/" },
        { ts: "2026-03-15T09:59:00Z", visitor: "event alone", type: "event", name: "signup" },
        { ts: "2026-03-15T09:59:00Z", path: "/nobody" },
      ]);
      await account.makeSite([{ ts: "2026-03-15T09:59:00Z", visitor: "of another site", path: "/" }]);
      const answer = await account.get(`/api/v1/sites/${siteId}/realtime`).expect(200);
      expect(answer.body).toEqual({ since: "2026-03-15T09:55:00.500Z", visitors: 3 });
      expect(answer.headers).toMatchObject({ "ratelimit-limit": "60", "cache-control": "no-store" });
      test.setNow(new Date("2026-03-15T10:03:30Z"));
      expect((await account.get(`/api/v1/sites/${siteId}/realtime`)).body.visitors).toBe(3);
      test.setNow(new Date("2026-03-15T10:30:00Z"));
      expect((await account.get(`/api/v1/sites/${siteId}/realtime`)).body.visitors).toBe(0);
    });

    it("answers zero for a site without events", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      const { body } = await account.get(`/api/v1/sites/${siteId}/realtime`).expect(200);
      expect(body).toEqual({ since: "2026-03-15T09:55:00.500Z", visitors: 0 });
    });
  });

  it("answers 401 without a key, 403 to Free accounts, 405 to other methods", async () => {
    const [account, free] = [await test.makeAccount(), await test.makeAccount("free")];
    const path = `/api/v1/sites/${await account.makeSite()}/realtime`;
    await request(test.app).get(path).expect(401);
    const refused = await free.get(path).expect(403);
    expect(refused.body.error).toMatch(/^The API requires a Pro plan/);
    const wrong = await request(test.app).post(path).set("Authorization", `Bearer ${account.key}`).expect(405);
    expect(wrong.headers["allow"]).toBe("GET, HEAD");
  });

  it("answers 404 for another account's site, as for one that does not exist", async () => {
    const [account, other] = [await test.makeAccount(), await test.makeAccount()];
    const foreign = await other.makeSite();
    for (const site of [foreign, "unknown"]) {
      await account.get(`/api/v1/sites/${site}/realtime`).expect(404, { error: "Site not found" });
    }
  });

  it("spends the key's minute: the 61st request is 429", async () => {
    const account = await test.makeAccount();
    const path = `/api/v1/sites/${await account.makeSite()}/realtime`;
    for (let n = 0; n < 60; n++) await account.get(path).expect(200);
    const refused = await account.get(path).expect(429);
    expect(refused.body).toMatchObject({ error: "Rate limit exceeded", limit: 60 });
  });
});
