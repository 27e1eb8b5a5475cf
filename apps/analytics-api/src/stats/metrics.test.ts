import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { metricsOf, type NaiveVisit, originOf, type VisitLine, viewsOf, visitsOf } from "./naive-visits.fixture.js";

const now = new Date("2026-03-15T10:00:00Z");
const all = "visits,bounceRate,visitDuration,viewsPerVisit,events";
const none = { visits: 0, bounceRate: 0, visitDuration: 0, viewsPerVisit: 0, events: 0 };

type Row = Record<string, unknown>;

describe("the metrics of visits", () => {
  const test = useApp();
  const read = async (account: TestAccount, siteId: string, query: string) =>
    (await account.get(`/api/v1/sites/${siteId}/stats?${query}`).expect(200)).body;

  const open = async (lines: readonly (Row & { ts: string })[] = []) => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([...lines]);
    return (query: string) => read(account, siteId, query);
  };

  const view = (ts: string, path: string, more: Row = {}) => ({ ts, path, visitor: "v", ...more });
  const lines = [
    view("2026-03-15T08:00:00Z", "/", { referrer: "https://www.google.com/", country: "NL" }),
    view("2026-03-15T08:20:00Z", "/a"),
    view("2026-03-15T08:30:00Z", "/", { type: "event", name: "signup" }),
    view("2026-03-15T09:30:00Z", "/a"),
    view("2026-03-14T09:30:00Z", "/b", { visitor: "w", url: "https://docs.example.com:8080/b", path: undefined }),
  ];

  const of = (visits: number, bounceRate: number, visitDuration: number, viewsPerVisit: number, events: number) => ({
    visits,
    bounceRate,
    visitDuration,
    viewsPerVisit,
    events,
  });

  it("come in the totals, the series, the days before and every list, in one order", async () => {
    const ask = await open(lines);
    const body = await ask(
      `range=today&metrics=events,${all}&interval=day&compare=previous&lists=entryPages,exitPages`,
    );
    const [long, bounce, both] = [of(1, 0, 1_800, 2, 1), of(1, 1, 0, 1, 0), of(2, 0.5, 900, 1.5, 1)];
    expect(body).toEqual({
      range: "today",
      pageviews: 3,
      uniqueVisitors: 1,
      ...both,
      topPages: [
        { path: "/a", visitors: 1, pageviews: 2, ...both },
        { path: "/", visitors: 1, pageviews: 1, ...long },
      ],
      topReferrers: [{ source: "Google", visitors: 1, ...long }],
      topCountries: [{ country: "NL", visitors: 1, ...long }],
      channels: {
        Direct: { visitors: 1, pageviews: 2, ...bounce },
        Search: { visitors: 1, pageviews: 1, ...long },
      },
      entryPages: [
        { path: "/", visitors: 1, ...long },
        { path: "/a", visitors: 1, ...bounce },
      ],
      exitPages: [{ path: "/a", visitors: 1, ...both }],
      series: [{ day: "2026-03-15", visitors: 1, pageviews: 3, ...both }],
      previous: { from: "2026-03-14", to: "2026-03-14", pageviews: 1, uniqueVisitors: 1, ...bounce },
    });
    expect(Object.keys(body).slice(0, 8)).toEqual(["range", "pageviews", "uniqueVisitors", ...all.split(",")]);
  });

  it("are those asked for alone, and zeros where nothing happened", async () => {
    const ask = await open();
    expect(await ask("metrics=bounceRate&interval=day&range=today")).toMatchObject({
      bounceRate: 0,
      series: [{ day: "2026-03-15", visitors: 0, pageviews: 0, bounceRate: 0 }],
    });
    expect(Object.keys(await ask("metrics=bounceRate"))).not.toContain("visits");
    expect(await ask(`metrics=${all}`)).toMatchObject(none);
  });

  it("leave answers without them as they are", async () => {
    const ask = await open([
      ...lines,
      // A visit without a page view has a source, but no visitor.
      view("2026-03-15T03:00:00Z", "/", {
        type: "event",
        name: "x",
        visitor: "z",
        referrer: "https://duckduckgo.com/",
      }),
    ]);
    const { topReferrers, entryPages, channels } = await ask("lists=entryPages");
    expect(topReferrers).toEqual([{ source: "Google", visitors: 1 }]);
    expect(entryPages).toEqual([
      { path: "/", visitors: 1 },
      { path: "/b", visitors: 1 },
    ]);
    expect(Object.keys(channels)).toEqual(["Direct", "Search"]);
    const withVisits = await ask("metrics=visits");
    expect(withVisits.topReferrers).toEqual([
      { source: "Google", visitors: 1, visits: 1 },
      { source: "DuckDuckGo", visitors: 0, visits: 1 },
    ]);
  });

  it("are of hosts too, in lower case and without the port", async () => {
    const ask = await open([
      ...lines,
      view("2026-03-14T10:00:00Z", "/", { url: "https://DOCS.example.com/c", visitor: "x" }),
    ]);
    expect((await ask("lists=hosts&metrics=visits")).hosts).toEqual([
      { host: "docs.example.com", visitors: 2, pageviews: 2, visits: 2 },
    ]);
    expect((await ask("lists=hosts")).hosts).toEqual([{ host: "docs.example.com", visitors: 2, pageviews: 2 }]);
  });

  it("have hours, weeks from Monday and months, of the range's days alone", async () => {
    const ask = await open(lines);
    const { series: hours } = await ask("range=7d&interval=hour&metrics=visits,events");
    expect(hours).toHaveLength(7 * 24);
    expect(hours.filter(({ pageviews }: Row) => pageviews !== 0)).toEqual([
      { hour: "2026-03-14T09:00:00Z", visitors: 1, pageviews: 1, visits: 1, events: 0 },
      { hour: "2026-03-15T08:00:00Z", visitors: 1, pageviews: 2, visits: 1, events: 1 },
      { hour: "2026-03-15T09:00:00Z", visitors: 1, pageviews: 1, visits: 1, events: 0 },
    ]);
    const { series: weeks } = await ask("from=2026-03-15&to=2026-03-16&interval=week&compare=previous");
    expect(weeks).toEqual([
      { week: "2026-03-09", visitors: 1, pageviews: 3 },
      { week: "2026-03-16", visitors: 0, pageviews: 0 },
    ]);
    const { series: months } = await ask("from=2026-02-28&to=2026-03-15&interval=month&metrics=visits");
    expect(months).toEqual([
      { month: "2026-02", visitors: 0, pageviews: 0, visits: 0 },
      { month: "2026-03", visitors: 2, pageviews: 4, visits: 3 },
    ]);
  });

  it("name the days they cover where visits could not be counted before", async () => {
    const ask = await open(lines);
    await test.pool.query("UPDATE event_horizon SET visits_day = '2026-03-15'");
    expect((await ask("metrics=visits")).coverage).toEqual({ from: "2026-03-15", to: "2026-03-15" });
    expect((await ask("interval=hour")).coverage).toEqual({ from: "2026-03-15", to: "2026-03-15" });
    expect((await ask("metrics=visits&from=2026-03-01&to=2026-03-14")).coverage).toEqual({ from: null, to: null });
    expect((await ask("metrics=visits&range=today")).coverage).toBeUndefined();
    expect((await ask("interval=day")).coverage).toBeUndefined();
    const before = (await ask("metrics=visits&range=today&compare=previous")).previous;
    expect(before.coverage).toEqual({ from: null, to: null });
    await test.pool.query("UPDATE event_horizon SET visits_day = NULL");
  });

  it("name the days with hours where another tool gave figures of others", async () => {
    const ask = await open(lines);
    const sql = `
      WITH day AS (
        INSERT INTO imported_day (site_id, day, source) SELECT id, '2026-03-13', 'plausible' FROM site RETURNING site_id, day
      )
      INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, visits)
      SELECT site_id, 'total', day, '', 150, 200, 160 FROM day`;
    await test.pool.query(sql);
    const range = "from=2026-03-13&to=2026-03-15";
    const { series, ...body } = await ask(`${range}&interval=hour`);
    expect(body).toMatchObject({ pageviews: 204, coverage: { from: "2026-03-14", to: "2026-03-15" } });
    expect(series.reduce((sum: number, point: { pageviews: number }) => sum + point.pageviews, 0)).toBe(4);
    expect((await ask("from=2026-03-13&to=2026-03-13&interval=hour")).coverage).toEqual({ from: null, to: null });
    expect((await ask(`${range}&interval=day&metrics=visits`)).coverage).toBeUndefined();
    await test.pool.query("DELETE FROM imported_day");
  });
});

describe("random visits", () => {
  const test = useApp();

  const line = fc.record({
    // A line's place among the lines gives its millisecond, so no two are at one moment.
    minute: fc.integer({ min: 0, max: 2 * 24 * 12 - 1 }).map((step) => step * 5),
    type: fc.constantFrom("pageview" as const, "pageview" as const, "event" as const, "engagement" as const),
    interactive: fc.constantFrom(undefined, false),
    host: fc.constantFrom("https://example.com", "https://docs.example.com", ""),
    path: fc.constantFrom("/", "/a", "/b"),
    referrer: fc.constantFrom(undefined, "https://www.google.com/", "https://duckduckgo.com/"),
    country: fc.constantFrom(undefined, "DE", "FR"),
    visitor: fc.constantFrom(undefined, "1", "2", "3"),
  });

  it("have the figures of a naive count, in totals, hours, days and lists", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 50 }), async (drawn) => {
        test.setNow(now);
        const lines = drawn.map(({ minute, host, path, ...rest }, n): VisitLine => {
          const ts = new Date(Date.UTC(2026, 2, 14, 0, minute, 0, n)).toISOString();
          return { ...rest, ts, url: `${host}${path}`, ...(rest.type === "event" && { name: "signup" }) };
        });
        const account = await test.makeAccount();
        const siteId = await account.makeSite(lines);
        const get = async (query: string) =>
          (await account.get(`/api/v1/sites/${siteId}/stats?metrics=${all}&${query}`).expect(200)).body;
        const visits = visitsOf(lines);
        const eventsIn = (time: string) =>
          lines.filter(({ type, ts }) => type === "event" && ts.startsWith(time)).length;
        const body = await get("lists=hosts,entryPages,exitPages&interval=day");
        expect(body).toMatchObject(metricsOf(visits, eventsIn("2026")));
        for (const point of body.series) {
          const begun = visits.filter(({ start }) => start.startsWith(point.day));
          expect(point).toMatchObject(metricsOf(begun, eventsIn(point.day)));
        }
        for (const point of (await get("interval=hour")).series) {
          const hour = point.hour.slice(0, 13);
          const views = lines.filter(({ type, ts }) => type === "pageview" && ts.startsWith(hour));
          const visitors = new Set(views.flatMap(({ visitor }) => visitor ?? []));
          const begun = visits.filter(({ start }) => start.startsWith(hour));
          const expected = metricsOf(begun, eventsIn(hour));
          expect(point).toEqual({ hour: point.hour, visitors: visitors.size, pageviews: views.length, ...expected });
        }
        const page = ({ url }: VisitLine) => new URL(url, "https://example.com").pathname;
        const host = ({ url }: VisitLine) => (url.startsWith("http") ? new URL(url).hostname : undefined);
        const names: Record<string, string> = {
          "https://www.google.com/": "Google",
          "https://duckduckgo.com/": "DuckDuckGo",
        };
        checkList(body.topPages, "path", visits, (visit) => viewsOf(visit).map(page));
        checkList(body.hosts, "host", visits, (visit) => viewsOf(visit).map(host));
        checkList(body.entryPages, "path", visits, (visit) => viewsOf(visit).slice(0, 1).map(page));
        checkList(body.exitPages, "path", visits, (visit) => viewsOf(visit).slice(-1).map(page));
        checkList(body.topReferrers, "source", visits, (visit) => [names[originOf(visit)?.referrer ?? ""]]);
        checkList(body.topCountries, "country", visits, (visit) => [originOf(visit)?.country]);
        for (const row of [...body.entryPages, ...body.exitPages])
          expect(row.visits).toBeGreaterThanOrEqual(row.visitors);
      }),
      randomRuns(8),
    );
  });

  function checkList(
    rows: readonly Row[],
    key: string,
    visits: readonly NaiveVisit[],
    valuesOf: (visit: NaiveVisit) => (string | undefined)[],
  ): void {
    const values = new Set(visits.flatMap(valuesOf).filter((value) => value !== undefined));
    const shown = rows.filter((row) => row["visits"] !== 0).map((row) => row[key]);
    expect([...shown].sort()).toEqual([...values].sort());
    for (const row of rows) {
      const own = visits.filter((visit) => valuesOf(visit).includes(String(row[key])));
      expect(row).toMatchObject(metricsOf(own));
    }
  }
});
