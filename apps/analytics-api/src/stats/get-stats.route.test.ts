import { describe, expect, it } from "@jest/globals";
import { type Line, useApp } from "../app.fixture.js";

const view = (ts: string, visitor: string, path = "/", more: Record<string, unknown> = {}): Line => ({
  ts,
  visitor,
  path,
  ...more,
});

describe("GET /api/v1/sites/:id/stats", () => {
  const test = useApp();
  const now = new Date("2026-03-15T10:00:00Z");

  it("answers exactly the documented fields, for a site without events too", async () => {
    const account = await test.makeAccount();
    const siteId = await account.makeSite();
    const answer = await account.get(`/api/v1/sites/${siteId}/stats`).expect(200);
    expect(answer.body).toEqual({
      range: "7d",
      pageviews: 0,
      uniqueVisitors: 0,
      topPages: [],
      topReferrers: [],
      topCountries: [],
      channels: {},
    });
  });

  it("counts views and daily visitors by page, source, country and channel", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      view("2026-03-15T09:00:00Z", "a", "/", { referrer: "https://www.google.com/search?q=x", country: "nl" }),
      view("2026-03-15T09:01:00Z", "a", "/about", { referrer: "https://example.com/", country: "NL" }),
      view("2026-03-15T09:02:00Z", "b", "/", { referrer: "https://news.ycombinator.com/item?id=1" }),
      view("2026-03-15T09:03:00Z", "b", "/"),
      view("2026-03-14T09:03:00Z", "b", "/", { country: "DE" }),
      { ts: "2026-03-15T09:04:00Z", type: "event", name: "signup", visitor: "c", path: "/join" },
    ]);
    const answer = await account.get(`/api/v1/sites/${siteId}/stats?range=7d`).expect(200);
    expect(answer.body).toEqual({
      range: "7d",
      pageviews: 5,
      uniqueVisitors: 3,
      topPages: [
        { path: "/", visitors: 3, pageviews: 4 },
        { path: "/about", visitors: 1, pageviews: 1 },
      ],
      topReferrers: [
        { source: "Google", visitors: 1 },
        { source: "Hacker News", visitors: 1 },
      ],
      topCountries: [
        { country: "DE", visitors: 1 },
        { country: "NL", visitors: 1 },
      ],
      channels: {
        Direct: { visitors: 3, pageviews: 3 },
        Search: { visitors: 1, pageviews: 1 },
        Social: { visitors: 1, pageviews: 1 },
      },
    });
  });

  it("takes whole UTC days: today, today and six before, today and 29 before, and nothing of the future", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      view("2026-03-16T00:00:00Z", "future"),
      view("2026-03-15T23:59:59.999Z", "later today"),
      view("2026-03-15T00:00:00Z", "today"),
      view("2026-03-14T23:59:59.999Z", "yesterday"),
      view("2026-03-09T00:00:00Z", "sixth day before"),
      view("2026-03-08T23:59:59.999Z", "seventh day before"),
      view("2026-02-14T00:00:00Z", "29th day before"),
      view("2026-02-13T23:59:59.999Z", "30th day before"),
    ]);
    const counts = async (query: string) => {
      const { body } = await account.get(`/api/v1/sites/${siteId}/stats${query}`).expect(200);
      return [body.range, body.pageviews, body.uniqueVisitors];
    };
    expect(await counts("?range=today")).toEqual(["today", 2, 2]);
    expect(await counts("?range=7d")).toEqual(["7d", 4, 4]);
    expect(await counts("?range=30d")).toEqual(["30d", 6, 6]);
    expect(await counts("")).toEqual(["7d", 4, 4]);
    test.setNow(new Date("2026-03-15T23:59:59.999Z"));
    expect(await counts("?range=today")).toEqual(["today", 2, 2]);
    test.setNow(new Date("2026-03-16T00:00:00Z"));
    expect(await counts("?range=today")).toEqual(["today", 1, 1]);
  });

  it("orders by visitors, then views where the list shows them, then the value, and keeps ten or the limit", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const lines = Array.from({ length: 12 }, (_, n) =>
      view("2026-03-15T01:00:00Z", `v${n}`, `/p${String(n).padStart(2, "0")}`),
    );
    lines.push(view("2026-03-15T02:00:00Z", "v5", "/p05"));
    lines.push(view("2026-03-15T02:00:00Z", "other", "/p07"));
    lines.push(view("2026-03-15T02:00:00Z", "v1", "/Z"), view("2026-03-15T02:00:00Z", "v1", "/é"));
    const siteId = await account.makeSite(lines);
    const paths = async (query: string): Promise<string[]> => {
      const { body } = await account.get(`/api/v1/sites/${siteId}/stats?range=today${query}`).expect(200);
      return body.topPages.map((page: { path: string }) => page.path);
    };
    expect(await paths("")).toEqual(["/p07", "/p05", "/Z", "/p00", "/p01", "/p02", "/p03", "/p04", "/p06", "/p08"]);
    expect(await paths("&limit=1")).toEqual(["/p07"]);
    expect((await paths("&limit=1000")).at(-1)).toBe("/é");
  });

  it.each(["0", "1001", "-1", "1.5", "ten", "", "1&limit=2", "00001"])("refuses the limit %s", async (limit) => {
    const account = await test.makeAccount();
    const siteId = await account.makeSite();
    const answer = await account.get(`/api/v1/sites/${siteId}/stats?limit=${limit}`).expect(400);
    expect(Object.keys(answer.body.fields)).toEqual(["limit"]);
  });

  it("keeps the figures of each site apart", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const [one, other] = [await account.makeSite([view("2026-03-15T01:00:00Z", "v")]), await account.makeSite()];
    expect((await account.get(`/api/v1/sites/${one}/stats`)).body.pageviews).toBe(1);
    expect((await account.get(`/api/v1/sites/${other}/stats`)).body.pageviews).toBe(0);
  });
});
