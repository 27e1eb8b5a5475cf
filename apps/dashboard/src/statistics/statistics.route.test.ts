import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { listNames } from "@waymark/web-stats/lists";
import { type Metric, metricNames } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import { insertCosts, insertMachines, type Line, makeSite, useAnalyticsApi } from "./statistics.fixture.js";
import type { SiteStats } from "./statistics.route.js";

const dashboard = useDashboard();
const api = useAnalyticsApi(dashboard);

const dayMs = 86_400_000;
const now = new Date("2026-03-15T10:30:00.000Z");

const operatorProblem = "Must have one of the operators is, isNot, contains, containsNot";

function setNow(moment: Date) {
  dashboard.setNow(moment);
  api.setNow(moment);
}

async function open(lines: readonly Line[] = []) {
  setNow(now);
  const accountId = await dashboard.makeAccount();
  const viewer = await dashboard.signIn(accountId);
  const siteId = await makeSite(dashboard, { accountId, lines });
  return { accountId, viewer, siteId, ask: await api.client(accountId) };
}

interface Random {
  ts: string;
  visitor: string | undefined;
  ua: string;
  kind: string;
}

/** Visits of 40 days before the moment and some hours after it. */
const visits = fc.array(
  fc.record({
    ts: fc
      .integer({ min: -40 * dayMs, max: dayMs / 2 })
      .map((offset) => new Date(now.getTime() + offset).toISOString()),
    visitor: fc.constantFrom("a", "b", "c", "d", undefined),
    path: fc.constantFrom("/", "/pricing", "/a?utm_source=mail&utm_campaign==1%2B1", '/"quoted",x'),
    referrer: fc.constantFrom("", "https://www.google.com/", "https://news.example/x"),
    country: fc.constantFrom("NL", "DE", ""),
    ua: fc.constant(
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
    ),
    kind: fc.constantFrom("view", "view", "signup", "engagement"),
  }),
  { minLength: 1, maxLength: 60 },
);

/** Without a visitor and a browser the line is of nobody. */
function toLine({ kind, ua, visitor, ...visit }: Random): Line {
  const type = kind === "view" ? "pageview" : kind === "engagement" ? kind : "event";
  const name = type === "event" ? { name: kind, props: { plan: "pro" } } : {};
  return { ...visit, ...name, ...(visitor && { visitor, user_agent: ua }), type };
}

const ranges = [
  "range=today",
  "range=7d",
  "range=30d",
  "from=2026-02-20&to=2026-03-14",
  "from=2026-03-15&to=2026-03-20",
];

const filters = [
  "country:is:NL",
  "country:isNot:NL|",
  "page:contains:/pri",
  'page:is:/"quoted",x;source:containsNot:news',
  "event:is:signup;prop.plan:is:pro",
  "utmCampaign:is:=1+1",
  "entryPage:is:/nowhere",
];

describe("GET /sites/:id/stats and /events", () => {
  it("have the analytics API's figures, lists, custom events and CSV", async () => {
    const lists = listNames.join(",");
    await fc.assert(
      fc.asyncProperty(
        visits,
        fc.constantFrom(...ranges),
        fc.constantFrom(...listNames),
        async (random, range, list) => {
          const { viewer, siteId, ask } = await open(random.map(toLine));
          for (const moment of [now, new Date("2026-03-14T23:59:59.999Z"), new Date("2026-03-15T00:00:00.000Z")]) {
            setNow(moment);
            const own = await viewer.get(`/sites/${siteId}/stats?${range}`).expect(200);
            const { series, previous, ...rest } = (
              await ask(`/sites/${siteId}/stats?${range}&lists=${lists}&interval=day&compare=previous`).expect(200)
            ).body;
            expect(own.body).toMatchObject(rest);
            const asked = `/sites/${siteId}/stats?${range}&metrics=${metricNames}&compare=previous`;
            checkOverview(own.body, (await ask(`${asked}&interval=${own.body.overview.interval}`).expect(200)).body);
            const events = await viewer.get(`/sites/${siteId}/events?${range}`).expect(200);
            expect(events.body).toMatchObject((await ask(`/sites/${siteId}/events?${range}`).expect(200)).body);
            const before = await viewer
              .get(`/sites/${siteId}/stats?from=${previous.from}&to=${previous.to}`)
              .expect(200);
            expect(before.body).toMatchObject({
              pageviews: previous.pageviews,
              uniqueVisitors: previous.uniqueVisitors,
            });
            const csv = `/sites/${siteId}/stats?${range}&limit=1000&lists=${list}`;
            const file = await viewer.get(`${csv}&csv=1`).expect(200);
            expect(file.text).toBe((await ask(csv, "text/csv").expect(200)).text);
          }
        },
      ),
      randomRuns(4),
    );
  });

  it("have its answers under filters", async () => {
    const lists = listNames.join(",");
    await fc.assert(
      fc.asyncProperty(
        visits,
        fc.constantFrom(...ranges),
        fc.constantFrom(...filters),
        fc.constantFrom(...listNames),
        async (random, range, text, list) => {
          const { viewer, siteId, ask } = await open(random.map(toLine));
          const query = `${range}&filters=${encodeURIComponent(text)}`;
          const stats = `/sites/${siteId}/stats?${query}`;
          const own = await viewer.get(stats).expect(200);
          expect(own.body).toMatchObject((await ask(`${stats}&lists=${lists}`).expect(200)).body);
          const asked = `${stats}&metrics=${metricNames}&compare=previous&interval=${own.body.overview.interval}`;
          checkOverview(own.body, (await ask(asked).expect(200)).body);
          const events = await viewer.get(`/sites/${siteId}/events?${query}`).expect(200);
          expect(events.body).toMatchObject((await ask(`/sites/${siteId}/events?${query}`).expect(200)).body);
          const file = await viewer.get(`${stats}&limit=1000&lists=${list}&csv=1`).expect(200);
          expect(file.text).toBe((await ask(`${stats}&limit=1000&lists=${list}`, "text/csv").expect(200)).text);
        },
      ),
      randomRuns(6),
    );
  });

  it("compare the visits that match with those that began by the same time of the day", async () => {
    const times = ["08:00:00", "08:20:00", "10:20:00", "10:40:00"];
    const lines: Line[] = times.flatMap((time, n) =>
      ["NL", "DE"].map((country) => {
        const visitor = `${country}${Math.floor(n / 2)}`;
        return { type: "pageview", ts: `2026-03-14T${time}Z`, path: "/", visitor, country };
      }),
    );
    const { viewer, siteId } = await open(lines);
    const { body } = await viewer.get(`/sites/${siteId}/stats?range=today&filters=country:is:NL`).expect(200);
    const { comparison } = (body as SiteStats).overview;
    const part = { visitors: 2, pageviews: 3, visits: 2, bounceRate: 0, visitDuration: 1200, viewsPerVisit: 2 };
    expect(comparison).toMatchObject({ until: "2026-03-14T10:30:00.000Z", totals: part });
    expect(comparison?.series.map(({ pageviews }) => pageviews).slice(8, 11)).toEqual([2, 0, 2]);
  });

  it("tell the days with events where not all have them", async () => {
    const { viewer, siteId } = await open();
    await dashboard.pool.query("UPDATE event_horizon SET day = '2026-03-12'");
    try {
      for (const answer of ["stats", "events"]) {
        const { body } = await viewer.get(`/sites/${siteId}/${answer}?filters=country:is:NL`).expect(200);
        expect(body.coverage).toEqual({ from: "2026-03-12", to: "2026-03-15" });
        expect((await viewer.get(`/sites/${siteId}/${answer}`).expect(200)).body).not.toHaveProperty("coverage");
      }
      const compared = async (query: string) => {
        const { body } = await viewer.get(`/sites/${siteId}/stats?${query}`).expect(200);
        return (body as SiteStats).overview.comparison !== undefined;
      };
      expect(await compared("range=7d")).toBe(true);
      expect(await compared("range=7d&filters=country:is:NL")).toBe(false);
      expect(await compared("range=today&filters=country:is:NL")).toBe(true);
    } finally {
      await dashboard.pool.query("UPDATE event_horizon SET day = NULL");
    }
  });

  type Answered = Record<Metric, number> & { pageviews: number; uniqueVisitors: number };

  function figuresOf({ uniqueVisitors: visitors, pageviews, ...more }: Answered) {
    return { visitors, pageviews, ...Object.fromEntries(metricNames.map((name) => [name, more[name]])) };
  }

  /** Hours go up to the present one; whole days are compared with whole days. */
  function checkOverview(
    { overview }: SiteStats,
    api: Answered & { series: Record<string, unknown>[]; previous: Answered },
  ) {
    const { interval, totals, series, comparison } = overview;
    expect(totals).toEqual(figuresOf(api));
    const points = api.series.map(({ day, hour, ...figures }) => ({
      at: interval === "day" ? day : String(hour).slice(0, 13),
      ...figures,
    }));
    expect(series).toEqual(points.slice(0, series.length));
    if (!comparison?.until) expect(comparison?.totals).toEqual(figuresOf(api.previous));
  }

  it("sum the hours of a day to its page views and events", async () => {
    const lines: Line[] = [0, 3, 3, 9].map((hour) => ({
      type: "pageview",
      ts: `2026-03-15T0${hour}:15:00Z`,
      path: "/",
      visitor: "a",
    }));
    const { viewer, siteId } = await open(lines);
    const { body } = await viewer.get(`/sites/${siteId}/stats?range=today`).expect(200);
    const { overview } = body as SiteStats;
    expect(overview.interval).toBe("hour");
    expect(overview.series.map(({ pageviews }) => pageviews)).toEqual([1, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0]);
    expect(overview.totals).toMatchObject({ visitors: 1, pageviews: 4, events: 0, visits: 3 });
    expect(overview.series.map(({ visits }) => visits)).toEqual([1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]);
  });

  it("compare with the visits that began by the same time of the day", async () => {
    const lines: Line[] = ["08:00:00", "08:20:00", "10:29:59", "10:30:00"].map((time, n) => ({
      type: "pageview",
      ts: `2026-03-14T${time}Z`,
      path: "/",
      visitor: n < 2 ? "a" : `v${n}`,
    }));
    const { viewer, siteId } = await open(lines);
    const { body } = await viewer.get(`/sites/${siteId}/stats?range=today`).expect(200);
    const { comparison } = (body as SiteStats).overview;
    expect(comparison?.totals).toMatchObject({ visits: 2, bounceRate: 0.5, visitDuration: 600, viewsPerVisit: 1.5 });
    expect(comparison?.series.map(({ visits }) => visits).slice(8, 11)).toEqual([1, 0, 2]);
  });

  it("answer a file with a name of its own", async () => {
    const { viewer, siteId } = await open();
    const { headers } = await viewer.get(`/sites/${siteId}/stats?csv=1&lists=topPages`).expect(200);
    expect(headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="example.com-topPages-2026-03-09-2026-03-15.csv"',
      "cache-control": "no-store",
    });
  });

  it("are open to Free, whose key the API refuses, and to members", async () => {
    const accountId = await dashboard.makeAccount("free");
    const siteId = await makeSite(dashboard, { accountId });
    const member = await dashboard.signIn(accountId, "member");
    const { body } = await member.get(`/sites/${siteId}/stats`).expect(200);
    expect(body).toMatchObject({ hasEvents: false, uniqueVisitors: 0, site: { id: siteId, domain: "example.com" } });
    await member.get(`/sites/${siteId}/events`).expect(200);
    await member.get(`/sites/${siteId}/realtime`).expect(200);
  });

  it.each([
    ["stats?range=1d", { range: "Must be one of: today, 7d, 30d" }],
    ["stats?compare=next", { compare: "Must be one of: previous, year, off" }],
    ["stats?csv=1", { lists: "Must name exactly one list for CSV" }],
    ["stats?csv=1&lists=devices,browsers", { lists: "Must name exactly one list for CSV" }],
    ["stats?filters=country", { filters: operatorProblem }],
    ["events?filters=country", { filters: operatorProblem }],
    ["realtime?filters=country", { filters: operatorProblem }],
    ["ai?filters=country", { filters: operatorProblem }],
    ["events?from=2026-03-01", { to: "Required together with from" }],
  ])("answer 400 for %s", async (path, fields) => {
    const { viewer, siteId } = await open();
    await viewer.get(`/sites/${siteId}/${path}`).expect(400, { error: "Validation failed", fields });
  });
});

describe("GET /sites/:id/ai", () => {
  it("has the analytics API's report, the days before, and the pages that no machine read", async () => {
    const lines = [0, 8].flatMap((ago) =>
      ["/page-1", "/page-2", "/only-people", "/only-people"].map((path, n) => ({
        ts: new Date(now.getTime() - ago * dayMs - n * 1_000).toISOString(),
        visitor: `v${n}`,
        path,
        referrer: n < 2 ? "https://chatgpt.com/" : "",
      })),
    );
    const { viewer, siteId, ask } = await open(lines);
    await insertMachines(dashboard.pool, siteId, now);
    await insertCosts(dashboard.pool, siteId, now);
    for (const [query, before] of [
      ["range=7d", "from=2026-03-02&to=2026-03-08"],
      ["from=2026-03-07&to=2026-03-08", "from=2026-03-05&to=2026-03-06"],
      ["range=7d&filters=page:isNot:/page-9", "from=2026-03-02&to=2026-03-08&filters=page:isNot:/page-9"],
    ]) {
      const { body } = await viewer.get(`/sites/${siteId}/ai?${query}`).expect(200);
      const inApi = async (days?: string) =>
        (await ask(`/sites/${siteId}/ai?${days}&interval=day&limit=100&lists=unread,unvisited`).expect(200)).body;
      const { range: _range, from: _from, to: _to, ...report } = await inApi(query);
      expect(body).toMatchObject(report);
      expect(body.before).toEqual((await inApi(before)).series);
      for (const costs of body.costs) expect(costs).toEqual((await inApi(`${query}&costs=${costs.by}`)).costs);
      const counts = body.costs.map(({ rows }: { rows: object[] }) => rows.length);
      expect(counts).toEqual(query?.includes("filters") ? [] : query === "range=7d" ? [3, 1, 1, 1] : [0, 0, 0, 0]);
      expect(body.unread).toEqual([{ path: "/only-people", visitors: 2 }]);
      expect(body.pages.find(({ path }: { path: string }) => path === "/page-3").visitors).toBe(0);
    }
  });
});

describe("GET /sites", () => {
  it("has the analytics API's sites", async () => {
    const { accountId, viewer, ask } = await open();
    await makeSite(dashboard, { accountId, domain: "another.example" });
    await open();
    const { sites } = (await ask("/sites").expect(200)).body;
    expect(sites).toHaveLength(2);
    expect((await viewer.get("/sites").expect(200)).body.sites).toMatchObject(sites);
  });
});

describe("GET /sites/:id/realtime", () => {
  it("counts as the analytics API does", async () => {
    const lines: Line[] = ["10:26:00", "10:29:00", "10:20:00"].map((time, n) => ({
      type: "pageview",
      ts: `2026-03-15T${time}Z`,
      path: `/${n}`,
      visitor: `v${n}`,
    }));
    const { viewer, siteId, ask } = await open(lines);
    const { body } = await viewer.get(`/sites/${siteId}/realtime`).expect(200);
    expect(body).toEqual({ since: "2026-03-15T10:25:00.000Z", visitors: 2 });
    expect((await ask(`/sites/${siteId}/realtime`).expect(200)).body).toEqual(body);
    const filtered = `/sites/${siteId}/realtime?filters=page:is:/1`;
    expect((await viewer.get(filtered).expect(200)).body).toEqual({ ...body, visitors: 1 });
    expect((await ask(filtered).expect(200)).body).toEqual({ ...body, visitors: 1 });
  });
});

describe("statistics of others", () => {
  it.each([
    "stats",
    "stats?csv=1&lists=topPages",
    "stats?filters=page:is:/",
    "events",
    "events?filters=page:is:/",
    "realtime",
    "realtime?filters=page:is:/",
  ])("are not found: %s", async (path) => {
    const { siteId } = await open();
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (const id of [siteId, "019c13f2-6c00-7cc3-98c4-dc0c0c07398f", "nonsense"]) {
      await stranger.get(`/sites/${id}/${path}`).expect(404, { error: "Site not found" });
    }
    await dashboard.anonymous().get(`/sites/${siteId}/${path}`).expect(401);
  });
});

describe("one account's slow reads", () => {
  it("leave connections to other accounts and other pages", async () => {
    const { viewer, siteId } = await open();
    const other = await open();
    const blocker = await dashboard.pool.connect();
    try {
      await blocker.query("BEGIN");
      await blocker.query("LOCK TABLE daily_stat, daily_event IN ACCESS EXCLUSIVE MODE");
      const slow = Array.from({ length: 14 }, () => viewer.get(`/sites/${siteId}/stats`).then(({ status }) => status));
      expect(await Promise.race(slow)).toBe(429);
      await viewer.get("/me").expect(200);
      await other.viewer.get(`/sites/${other.siteId}/realtime`).expect(200);
      await blocker.query("ROLLBACK");
      expect([...new Set(await Promise.all(slow))].sort()).toEqual([200, 429]);
    } finally {
      blocker.release(true);
    }
  });
});
