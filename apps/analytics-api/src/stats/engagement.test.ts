import { describe, expect, it } from "@jest/globals";
import { type TestAccount, useApp } from "../app.fixture.js";

const both = "timeOnPage,scrollDepth";

describe("the metrics of engagement", () => {
  const test = useApp();

  const view = (ts: string, path: string, visitor: string) => ({ ts: `2026-03-${ts}Z`, path, visitor });
  const report = (ts: string, path: string, visitor: string, engaged_ms?: number, scroll_depth?: number) => ({
    ...view(ts, path, visitor),
    type: "engagement",
    engaged_ms,
    scroll_depth,
  });
  const lines = [
    view("15T08:00:00", "/", "v"),
    report("15T08:00:10", "/", "v", 10_000, 40),
    report("15T08:00:30", "/", "v", 5_000, 80),
    view("15T08:01:00", "/a", "v"),
    report("15T08:02:00", "/a", "v", 60_000, 100),
    view("15T09:00:00", "/", "w"),
    view("15T09:01:00", "/", "w"),
    report("15T09:02:00", "/", "w", 3_000, 20),
    // No report: these count for nothing.
    view("15T09:30:00", "/a", "x"),
    view("15T09:31:00", "/b", "x"),
    // The day before; a page that was open over midnight has a report and no view of the day.
    report("14T00:00:10", "/a", "y", 8_000, 50),
    view("14T09:00:00", "/b", "y"),
  ];

  const open = async (account?: TestAccount) => {
    test.setNow(new Date("2026-03-15T10:00:00Z"));
    const own = account ?? (await test.makeAccount());
    const siteId = await own.makeSite(lines);
    return async (query: string, status = 200) =>
      (await own.get(`/api/v1/sites/${siteId}/stats?${query}`).expect(status)).body;
  };

  const home = { timeOnPage: 18 / 3, scrollDepth: 50 };
  const a = { timeOnPage: 60, scrollDepth: 100 };
  const none = { timeOnPage: null, scrollDepth: null };
  const total = { timeOnPage: 78 / 4, scrollDepth: 200 / 3 };

  it("come in the totals, the days before and the top pages alone", async () => {
    const ask = await open();
    const plain = await ask("range=today&lists=entryPages,browsers&interval=day&compare=previous");
    const body = await ask(`range=today&metrics=${both}&lists=entryPages,browsers&interval=day&compare=previous`);
    expect(body).toEqual({
      ...plain,
      ...total,
      topPages: [
        { path: "/", visitors: 2, pageviews: 3, ...home },
        { path: "/a", visitors: 2, pageviews: 2, ...a },
        { path: "/b", visitors: 1, pageviews: 1, ...none },
      ],
      previous: { ...plain.previous, timeOnPage: 8, scrollDepth: 50 },
    });
    expect(await ask("range=7d&metrics=visits,scrollDepth&limit=1")).toMatchObject({
      visits: 4,
      scrollDepth: 62.5,
      topPages: [{ path: "/", visits: 2, scrollDepth: 50 }],
    });
  });

  it("are null without a report", async () => {
    test.setNow(new Date("2026-03-15T10:00:00Z"));
    const account = await test.makeAccount();
    const siteId = await account.makeSite([view("15T08:00:00", "/", "v")]);
    const { body } = await account.get(`/api/v1/sites/${siteId}/stats?metrics=${both}`).expect(200);
    expect(body).toMatchObject({ ...none, topPages: [{ path: "/", ...none }] });
  });

  it("go with filters of pages, of any text", async () => {
    const ask = await open();
    const under = (filters: string) => ask(`range=today&metrics=${both}&filters=${encodeURIComponent(filters)}`);
    expect(await under("page:is:/a|/b")).toMatchObject({
      ...a,
      topPages: [
        { path: "/a", ...a },
        { path: "/b", ...none },
      ],
    });
    expect(await under("page:contains:/")).toMatchObject(total);
    expect(await under("page:contains:a;page:is:/a|/")).toMatchObject(a);
    for (const text of ["%", "'", "_", "\0", "\ud800", "$1"]) {
      expect(await under(`page:contains:${text.toWellFormed()}`)).toMatchObject(none);
      expect(await under(`page:is:${text.toWellFormed()}`)).toMatchObject(none);
    }
  });

  it("name the days that still have their reports", async () => {
    const ask = await open();
    await test.pool.query("UPDATE event_horizon SET day = '2026-03-13'");
    try {
      const { coverage } = await ask(`range=7d&metrics=${both}`);
      expect(coverage).toEqual({ from: "2026-03-13", to: "2026-03-15" });
    } finally {
      await test.pool.query("UPDATE event_horizon SET day = NULL");
    }
  });

  it("are columns of a CSV of top pages, and of no other list", async () => {
    test.setNow(new Date("2026-03-15T10:00:00Z"));
    const account = await test.makeAccount();
    const siteId = await account.makeSite(lines);
    const csv = async (list: string) => {
      const path = `/api/v1/sites/${siteId}/stats?range=today&metrics=visits,${both}&lists=${list}`;
      return (await account.get(path).set("Accept", "text/csv").expect(200)).text.split("\r\n");
    };
    expect((await csv("topPages")).slice(0, 4)).toEqual([
      '"path","visitors","pageviews","visits","timeOnPage","scrollDepth"',
      '"/",2,3,2,6,50',
      '"/a",2,2,2,60,100',
      '"/b",1,1,1,,',
    ]);
    expect((await csv("exitPages"))[0]).toBe('"path","visitors","visits"');
  });
});
