import { describe, expect, it } from "@jest/globals";
import { listNames } from "@waymark/web-stats/lists";
import { type StatEntry, type TestAccount, useApp } from "../app.fixture.js";

const now = new Date("2026-03-15T10:00:00Z");
const today = "2026-03-15";

/** One row per further dimension. */
const furtherEntries: StatEntry[] = [
  ["browser", today, "Firefox", 2, 5],
  ["os", today, "Linux", 2, 5],
  ["device", today, "Desktop", 2, 5],
  ["entry", today, "/start", 2, 0],
  ["utm_source", today, "newsletter", 2, 5],
  ["utm_medium", today, "email", 2, 5],
  ["utm_campaign", today, "spring", 2, 5],
];

const furtherAnswer = {
  browsers: [{ browser: "Firefox", visitors: 2, pageviews: 5 }],
  operatingSystems: [{ os: "Linux", visitors: 2, pageviews: 5 }],
  devices: [{ device: "Desktop", visitors: 2, pageviews: 5 }],
  entryPages: [{ path: "/start", visitors: 2 }],
  utmSources: [{ source: "newsletter", visitors: 2, pageviews: 5 }],
  utmMediums: [{ medium: "email", visitors: 2, pageviews: 5 }],
  utmCampaigns: [{ campaign: "spring", visitors: 2, pageviews: 5 }],
};

const statsFields = ["range", "pageviews", "uniqueVisitors", "topPages", "topReferrers", "topCountries", "channels"];

describe("the extensions of the statistics", () => {
  const test = useApp();
  const read = async (account: TestAccount, siteId: string, query: string) =>
    (await account.get(`/api/v1/sites/${siteId}/stats?${query}`).expect(200)).body;

  describe("unless asked for", () => {
    it("leave the contract's three answers exactly their documented fields, also where rollups hold more", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite([
        { ts: `${today}T01:00:00Z`, visitor: "v", path: "/", referrer: "https://www.google.com/", country: "NL" },
        { ts: `${today}T01:00:00Z`, visitor: "v", type: "event", name: "signup", props: { plan: "pro" } },
      ]);
      await test.addStats(siteId, [
        ...furtherEntries,
        ["page", today, "(other)", 7, 9],
        ["total", "2026-03-01", "", 4, 4],
      ]);
      for (const query of ["", "?range=today", "?range=7d&limit=10"]) {
        const { body } = await account.get(`/api/v1/sites/${siteId}/stats${query}`).expect(200);
        expect(Object.keys(body)).toEqual(statsFields);
        expect(body.topPages.map(Object.keys)).toEqual(Array(2).fill(["path", "visitors", "pageviews"]));
        expect(body.topReferrers.map(Object.keys)).toEqual([["source", "visitors"]]);
        expect(body.topCountries.map(Object.keys)).toEqual([["country", "visitors"]]);
        expect(body.channels).toEqual({ Search: { visitors: 1, pageviews: 1 } });
      }
      const events = await account.get(`/api/v1/sites/${siteId}/events`).expect(200);
      expect(events.body).toEqual({
        range: "7d",
        events: [{ name: "signup", count: 1, properties: { plan: { pro: 1 } } }],
      });
      const sites = await account.get("/api/v1/sites").expect(200);
      expect(sites.body).toEqual({ sites: [{ id: siteId, domain: "example.com", name: "The example.com" }] });
    });

    it.each([
      ["lists=browsers", ["browsers"]],
      ["lists=utmCampaigns,browsers,browsers", ["browsers", "utmCampaigns"]],
      ["lists=topPages,channels", []],
      ["interval=day", ["series"]],
      ["compare=previous", ["previous"]],
      ["lists=devices&interval=day&compare=previous", ["devices", "series", "previous"]],
    ])("%s adds what it names and changes nothing else", async (query, added) => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite([{ ts: `${today}T01:00:00Z`, visitor: "v", path: "/" }]);
      await test.addStats(siteId, furtherEntries);
      const [plain, extended] = [await read(account, siteId, ""), await read(account, siteId, query)];
      expect(Object.keys(extended)).toEqual([...statsFields, ...added]);
      expect(extended).toMatchObject(plain);
    });
  });

  describe("lists", () => {
    it("have their own fields, and are empty where nothing is known", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const [siteId, empty] = [await account.makeSite(), await account.makeSite()];
      await test.addStats(siteId, furtherEntries);
      const query = `lists=${Object.keys(furtherAnswer).join(",")}`;
      expect(await read(account, siteId, query)).toMatchObject(furtherAnswer);
      const nothing = Object.fromEntries(Object.keys(furtherAnswer).map((name) => [name, []]));
      expect(await read(account, empty, query)).toMatchObject(nothing);
    });

    it("add up days, order by visitors, then views where they are shown, then the value, and keep the limit", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      await test.addStats(siteId, [
        ["browser", today, "Chrome", 3, 3],
        ["browser", "2026-03-14", "Chrome", 1, 1],
        ["browser", today, "Firefox", 4, 9],
        ["browser", "2026-03-08", "Opera", 99, 99],
        ["browser", "2026-03-16", "Opera", 99, 99],
        ["browser", today, "Safari", 5, 5],
        ["entry", today, "/b", 1, 0],
        ["entry", today, "/a", 1, 0],
      ]);
      const { browsers, entryPages } = await read(account, siteId, "lists=browsers,entryPages");
      expect(browsers).toEqual([
        { browser: "Safari", visitors: 5, pageviews: 5 },
        { browser: "Firefox", visitors: 4, pageviews: 9 },
        { browser: "Chrome", visitors: 4, pageviews: 4 },
      ]);
      expect(entryPages).toEqual([
        { path: "/a", visitors: 1 },
        { path: "/b", visitors: 1 },
      ]);
      expect((await read(account, siteId, "lists=browsers&limit=1")).browsers).toEqual([browsers[0]]);
    });

    it("show (other) at their end, unranked, beside the limit, with the fields of any row", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      const values = Array.from({ length: 12 }, (_, n) => String(n).padStart(2, "0"));
      await test.addStats(siteId, [
        ...values.flatMap((value): StatEntry[] => [
          ["page", today, `/${value}`, 5, 5],
          ["source", today, value, 5, 5],
          ["utm_campaign", today, value, 5, 5],
        ]),
        ["page", today, "(other)", 900, 1000],
        ["page", "2026-03-14", "(other)", 1, 2],
        ["source", today, "(other)", 900, 1000],
        ["utm_campaign", today, "(other)", 1, 1],
      ]);
      const { topPages, topReferrers, utmCampaigns } = await read(account, siteId, "lists=utmCampaigns");
      expect(topPages).toHaveLength(11);
      expect(topPages.slice(9)).toEqual([
        { path: "/09", visitors: 5, pageviews: 5 },
        { path: "(other)", visitors: 901, pageviews: 1002 },
      ]);
      expect(topReferrers).toHaveLength(11);
      expect(topReferrers[10]).toEqual({ source: "(other)", visitors: 900 });
      expect(utmCampaigns[10]).toEqual({ campaign: "(other)", visitors: 1, pageviews: 1 });
      const small = await read(account, siteId, "limit=1");
      expect(small.topPages.map(({ path }: { path: string }) => path)).toEqual(["/00", "(other)"]);
    });
  });

  describe("interval=day", () => {
    it.each([
      ["range=today", 1],
      ["range=7d", 7],
      ["range=30d", 30],
      ["from=2024-02-27&to=2024-03-02", 5],
      ["from=2025-03-15&to=2026-03-15", 366],
    ])("has every day of %s in order, zeros included, and adds up to the totals", async (query, length) => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      await test.addStats(siteId, [
        ["total", "2024-02-29", "", 2, 3],
        ["total", "2026-03-13", "", 4, 5],
        ["total", today, "", 6, 7],
        ["total", "2026-03-16", "", 99, 99],
      ]);
      const { series, pageviews, uniqueVisitors } = await read(account, siteId, `${query}&interval=day`);
      expect(series).toHaveLength(length);
      const days = series.map(({ day }: { day: string }) => day);
      expect(days).toEqual([...new Set(days)].sort());
      const sum = { visitors: 0, pageviews: 0 };
      for (const day of series) {
        sum.visitors += day.visitors;
        sum.pageviews += day.pageviews;
      }
      expect(sum).toEqual({ visitors: uniqueVisitors, pageviews });
      expect(pageviews).toBeGreaterThan(0);
    });

    it("names day, visitors and page views", async () => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      await test.addStats(siteId, [["total", "2024-02-29", "", 2, 3]]);
      const { series } = await read(account, siteId, "from=2024-02-28&to=2024-03-01&interval=day");
      expect(series).toEqual([
        { day: "2024-02-28", visitors: 0, pageviews: 0 },
        { day: "2024-02-29", visitors: 2, pageviews: 3 },
        { day: "2024-03-01", visitors: 0, pageviews: 0 },
      ]);
    });
  });

  describe("compare=previous", () => {
    it.each([
      ["range=today", 1, { from: "2026-03-14", to: "2026-03-14", pageviews: 20, uniqueVisitors: 2 }],
      ["range=7d", 1021, { from: "2026-03-02", to: "2026-03-08", pageviews: 300, uniqueVisitors: 3 }],
      ["range=30d", 1321, { from: "2026-01-15", to: "2026-02-13", pageviews: 9000, uniqueVisitors: 90 }],
      [
        "from=2026-03-08&to=2026-03-09",
        1300,
        { from: "2026-03-06", to: "2026-03-07", pageviews: 0, uniqueVisitors: 0 },
      ],
    ])("of %s gives as many days before", async (query, pageviews, previous) => {
      test.setNow(now);
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      await test.addStats(siteId, [
        ["total", today, "", 1, 1],
        ["total", "2026-03-14", "", 2, 20],
        ["total", "2026-03-09", "", 10, 1000],
        ["total", "2026-03-08", "", 3, 300],
        ["total", "2026-02-13", "", 40, 4000],
        ["total", "2026-01-15", "", 50, 5000],
        ["total", "2026-01-14", "", 99, 99],
        ["page", "2026-03-14", "/yesterday", 2, 20],
      ]);
      const body = await read(account, siteId, `${query}&compare=previous&interval=day`);
      expect([body.pageviews, body.previous]).toEqual([pageviews, previous]);
      expect(body.series[0].day > previous.to).toBe(true);
      if (query === "range=today") expect(body.topPages).toEqual([]);
    });
  });

  describe("400", () => {
    const wrongName = { lists: `Must be names of lists, separated by commas: ${listNames.join(", ")}` };
    const wrongMetric = {
      metrics:
        "Must be names of metrics, separated by commas: visits, bounceRate, visitDuration, viewsPerVisit, events, timeOnPage, scrollDepth",
    };
    const wrongFilter = { filters: "Must be of page with is or contains if metrics has timeOnPage or scrollDepth" };
    it.each([
      ["lists=", wrongName],
      ["lists=cats", wrongName],
      ["lists=browsers,", wrongName],
      ["lists=browsers, devices", wrongName],
      ["lists=Browsers", wrongName],
      ["lists=toString", wrongName],
      ["lists=browsers&lists=devices", wrongName],
      ["interval=", { interval: "Must be one of: hour, day, week, month" }],
      ["interval=year", { interval: "Must be one of: hour, day, week, month" }],
      ["interval=hour&range=30d", { interval: "Must be day, week or month for more than 14 days" }],
      ["interval=hour&from=2026-03-01&to=2026-03-15", { interval: "Must be day, week or month for more than 14 days" }],
      ["metrics=", wrongMetric],
      ["metrics=visits,", wrongMetric],
      ["metrics=Visits", wrongMetric],
      ["metrics=visits&metrics=events", wrongMetric],
      ["metrics=timeOnPage&filters=country:is:DE", wrongFilter],
      ["metrics=visits,scrollDepth&filters=page:is:/;page:isNot:/a", wrongFilter],
      ["compare=year&interval=day", { compare: "Must be one of: previous" }],
      ["compare=previous&compare=previous", { compare: "Must be one of: previous" }],
    ])("for %s, before ownership", async (query, fields) => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      for (const site of [siteId, "unknown"]) {
        const answer = await account.get(`/api/v1/sites/${site}/stats?${query}`).expect(400);
        expect(answer.body).toEqual({ error: "Validation failed", fields });
      }
    });
  });
});
