import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { storeDays } from "@waymark/web-stats/statistics";
import type { Express } from "express";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { metricsOf, type NaiveVisit, originOf, type VisitLine, viewsOf, visitsOf } from "./naive-visits.fixture.js";

const now = new Date("2026-03-15T10:00:00Z");
const all = "visits,bounceRate,visitDuration,viewsPerVisit,events";

type Line = VisitLine & { props?: Record<string, string | number> };
type Operator = "is" | "isNot" | "contains" | "containsNot";

interface NaiveFilter {
  dimension: string;
  operator: Operator;
  values: string[];
}

const pageOf = ({ url }: VisitLine) => new URL(url, "https://example.com").pathname;
const hostOf = ({ url }: VisitLine) => (url.startsWith("http") ? new URL(url).hostname : "");
const sources: Record<string, string> = {
  "https://www.google.com/": "Google",
  "https://duckduckgo.com/": "DuckDuckGo",
};
const isView = ({ type }: VisitLine) => type === "pageview";
const eventsOf = ({ lines }: NaiveVisit) => lines.filter((line) => !isView(line)) as Line[];

/** A visit's own value. */
const attributes: Record<string, (visit: NaiveVisit) => string> = {
  entryPage: (visit) => viewsOf(visit).map(pageOf)[0] ?? "",
  exitPage: (visit) => viewsOf(visit).map(pageOf).at(-1) ?? "",
  source: (visit) => sources[originOf(visit)?.referrer ?? ""] ?? "",
  channel: (visit) => (attributes["source"]?.(visit) === "" ? "Direct" : "Search"),
  country: (visit) => originOf(visit)?.country ?? "",
};

function tests({ operator, values }: NaiveFilter, value: string): boolean {
  return operator.startsWith("is") ? values.includes(value) : values.some((part) => value.includes(part));
}

/** The value that a filter of events looks at. */
function valueIn({ dimension }: NaiveFilter, line: Line): string {
  if (dimension === "page") return pageOf(line);
  if (dimension === "host") return hostOf(line);
  return dimension === "event" ? (line.name ?? "") : String(line.props?.[dimension.slice(5)] ?? "");
}

const isOfEvents = ({ dimension }: NaiveFilter) => dimension === "event" || dimension.startsWith("prop.");
const isNegated = ({ operator }: NaiveFilter) => operator.endsWith("Not");

function matches(visit: NaiveVisit, filters: readonly NaiveFilter[]): boolean {
  const together = filters.filter((filter) => isOfEvents(filter) && !isNegated(filter));
  if (together.length > 0) {
    const isHit = (line: Line) => together.every((filter) => tests(filter, valueIn(filter, line)));
    if (!eventsOf(visit).some(isHit)) return false;
  }
  return filters.every((filter) => {
    const attribute = attributes[filter.dimension];
    if (attribute) return tests(filter, attribute(visit)) !== isNegated(filter);
    if (isOfEvents(filter) && !isNegated(filter)) return true;
    const lines = filter.dimension === "host" ? visit.lines : isOfEvents(filter) ? eventsOf(visit) : viewsOf(visit);
    return lines.some((line) => tests(filter, valueIn(filter, line))) !== isNegated(filter);
  });
}

/** The visits that match, with the views and events that count. */
function narrow(visits: readonly NaiveVisit[], filters: readonly NaiveFilter[]): NaiveVisit[] {
  const counts = (line: Line) =>
    filters.every((filter) => {
      const isAbout = isView(line) ? filter.dimension === "page" : isOfEvents(filter);
      return !isAbout || tests(filter, valueIn(filter, line)) !== isNegated(filter);
    });
  return visits
    .filter((visit) => matches(visit, filters))
    .map((visit) => ({ ...visit, counted: visit.lines.filter(counts) }));
}

const countedOf = (visit: NaiveVisit): VisitLine[] => (visit as NaiveVisit & { counted: VisitLine[] }).counted;

/** Days with visitors who have a page view in one of the visits, each once. */
const visitorsOf = (visits: readonly NaiveVisit[]) =>
  new Set(
    visits.flatMap(({ lines, start }) => (lines.some(isView) ? [`${start.slice(0, 10)} ${lines[0]?.visitor}`] : [])),
  ).size;

function figuresOf(visits: readonly NaiveVisit[]) {
  const counted = visits.flatMap(countedOf);
  const [views, events] = [counted.filter(isView).length, counted.filter((line) => !isView(line)).length];
  const viewsPerVisit = visits.length === 0 ? 0 : views / visits.length;
  return { ...metricsOf(visits, events), viewsPerVisit };
}

const escapeValue = (value: string) => value.replace(/[|;:\\]/g, "\\$&");

function textOf(filters: readonly NaiveFilter[]): string {
  return encodeURIComponent(
    filters
      .map(({ dimension, operator, values }) => `${dimension}:${operator}:${values.map(escapeValue).join("|")}`)
      .join(";"),
  );
}

describe("filters=", () => {
  const test = useApp();

  const open = async (lines: readonly (Record<string, unknown> & { ts: string })[]) => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([...lines]);
    return { siteId, get: reader(account, siteId, test.app), getOfSecond: reader(account, siteId, test.secondApp) };
  };
  const reader = (account: TestAccount, siteId: string, app: Express) => async (path: string) =>
    (await account.get(`/api/v1/sites/${siteId}/${path}`, app).expect(200)).body;

  const line = fc.record({
    minute: fc.integer({ min: 0, max: 2 * 24 * 12 - 1 }).map((step) => step * 5),
    type: fc.constantFrom("pageview" as const, "pageview" as const, "event" as const, "engagement" as const),
    interactive: fc.constantFrom(undefined, false),
    name: fc.constantFrom("signup", "a|b;c:d\\"),
    props: fc.constantFrom(undefined, { plan: "pro", seats: 3 }, { plan: "free" }),
    host: fc.constantFrom("https://example.com", "https://docs.example.com", ""),
    path: fc.constantFrom("/", "/a", "/a;b"),
    referrer: fc.constantFrom(undefined, "https://www.google.com/", "https://duckduckgo.com/"),
    country: fc.constantFrom(undefined, "DE", "FR"),
    visitor: fc.constantFrom(undefined, "1", "2", "3"),
  });
  const value = fc.constantFrom(
    "",
    "/",
    "/a",
    "/a;b",
    "a",
    "DE",
    "Google",
    "Search",
    "pro",
    "3",
    "signup",
    "a|b;c:d\\",
    "docs.example.com",
    "example.com",
  );
  const filter: fc.Arbitrary<NaiveFilter> = fc.record({
    dimension: fc.constantFrom("page", "host", "event", "prop.plan", "prop.seats", ...Object.keys(attributes)),
    operator: fc.constantFrom<Operator>("is", "isNot", "contains", "containsNot"),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  });

  it("gives the figures of a naive recount, for stored days and for days that are made from events", async () => {
    const drawnFilters = fc.array(fc.array(filter, { minLength: 1, maxLength: 3 }), { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 50 }), drawnFilters, async (drawn, asked) => {
        const lines = drawn.map(({ minute, host, path, name, props, interactive, ...rest }, n): Line => {
          const ts = new Date(Date.UTC(2026, 2, 14, 0, minute, 0, n)).toISOString();
          return {
            ...rest,
            ts,
            url: `${host}${path}`,
            ...(rest.type === "event" && { name, ...(props && { props }) }),
          };
        });
        const { siteId, get, getOfSecond } = await open(lines);
        const visits = visitsOf(lines);
        for (const [round, filters] of asked.entries()) {
          if (round === 3) await storeDays(test.pool, { siteIds: [siteId], before: "2026-03-16" });
          await check(round < 3 ? get : getOfSecond, narrow(visits, filters), filters);
        }
      }),
      randomRuns(8),
    );
  });

  async function check(
    get: (path: string) => Promise<Record<string, unknown>>,
    visits: NaiveVisit[],
    filters: NaiveFilter[],
  ) {
    const query = `filters=${textOf(filters)}&metrics=${all}`;
    const body = (await get(`stats?${query}&lists=hosts,entryPages,exitPages&interval=day`)) as Record<string, Row[]>;
    const views = visits.flatMap(countedOf).filter(isView);
    expect(body).toMatchObject({ ...figuresOf(visits), pageviews: views.length, uniqueVisitors: visitorsOf(visits) });
    for (const { day, ...point } of body["series"] ?? []) {
      const own = visits.filter(({ start }) => start.startsWith(String(day)));
      expect(point).toMatchObject({ ...figuresOf(own), visitors: visitorsOf(own) });
    }
    const viewed = (of: (line: VisitLine) => string) => (visit: NaiveVisit) => countedOf(visit).filter(isView).map(of);
    checkList(body["topPages"], "path", visits, viewed(pageOf));
    checkList(body["hosts"], "host", visits, viewed(hostOf));
    const own = (name: string) => (visit: NaiveVisit) => [attributes[name]?.(visit) ?? ""];
    checkList(body["entryPages"], "path", visits, own("entryPage"));
    checkList(body["exitPages"], "path", visits, own("exitPage"));
    checkList(body["topReferrers"], "source", visits, own("source"));
    checkList(body["topCountries"], "country", visits, own("country"));
    await checkHours(get, visits, filters);
    const counts: Record<string, number> = {};
    for (const { name = "" } of visits.flatMap(countedOf)) counts[name] = (counts[name] ?? 0) + 1;
    delete counts[""];
    const { events } = (await get(`events?filters=${textOf(filters)}`)) as {
      events: { name: string; count: number }[];
    };
    expect(Object.fromEntries(events.map(({ name, count }) => [name, count]))).toEqual(counts);
  }

  async function checkHours(
    get: (path: string) => Promise<Record<string, unknown>>,
    visits: NaiveVisit[],
    filters: NaiveFilter[],
  ) {
    const { series } = (await get(`stats?filters=${textOf(filters)}&interval=hour&range=7d&metrics=visits,events`)) as {
      series: Record<string, string | number>[];
    };
    for (const point of series) {
      const hour = String(point["hour"]).slice(0, 13);
      const counted = visits.flatMap(countedOf).filter(({ ts }) => ts.startsWith(hour));
      const views = counted.filter(isView);
      expect(point).toEqual({
        hour: point["hour"],
        visitors: new Set(views.map(({ visitor }) => visitor)).size,
        pageviews: views.length,
        visits: visits.filter(({ start }) => start.startsWith(hour)).length,
        events: counted.length - views.length,
      });
    }
  }

  type Row = Record<string, unknown>;

  function checkList(
    rows: readonly Row[] | undefined,
    key: string,
    visits: readonly NaiveVisit[],
    valuesOf: (visit: NaiveVisit) => string[],
  ) {
    const values = new Set(visits.flatMap(valuesOf).filter((one) => one !== ""));
    expect(rows?.map((row) => row[key]).sort()).toEqual([...values].sort());
    for (const row of rows ?? []) {
      const own = visits.filter((visit) => valuesOf(visit).includes(String(row[key])));
      expect(row).toMatchObject({ ...figuresOf(own), visitors: visitorsOf(own) });
    }
  }
});

describe("filters= with a wrong or an odd value", () => {
  const test = useApp();

  it.each(["stats", "events", "realtime"])("of %s is a 400 that names the field, or answers exactly", async (path) => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([
      { ts: "2026-03-15T09:58:00Z", visitor: "v", path: "/100%'\"", country: "NL" },
      { ts: "2026-03-15T09:58:00Z", visitor: "v", type: "event", name: "signup", props: { plan: "a|b" } },
    ]);
    const ask = (filters: string) =>
      account.get(`/api/v1/sites/${siteId}/${path}?filters=${encodeURIComponent(filters)}`);
    for (const wrong of ["", "country", "country:like:NL", "page:is:/a:b", "source:is:(other)", "country:is:NL;"]) {
      const { body } = await ask(wrong).expect(400);
      expect(Object.keys(body.fields)).toEqual(["filters"]);
    }
    await account.get(`/api/v1/sites/${siteId}/${path}?filters=country:is:NL&filters=country:is:DE`).expect(400);
    const figures = async (filters: string) => {
      const { body } = await ask(filters).expect(200);
      return path === "stats" ? body.uniqueVisitors : path === "events" ? body.events.length : body.visitors;
    };
    for (const all of ["country:is:NL", "page:contains:%'\"", "page:isNot:\0", "prop.plan:is:a\\|b", "source:is:"]) {
      expect([all, await figures(all)]).toEqual([all, 1]);
    }
    for (const none of [
      "country:is:nl",
      "page:is:\0",
      "page:contains:(%)",
      "browser:is:Firefox",
      "host:is:example.com",
    ]) {
      expect([none, await figures(none)]).toEqual([none, 0]);
    }
  });

  it("says which days it is of, where others have lost their events or have none of them", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite([{ ts: "2026-03-15T09:00:00Z", visitor: "v", path: "/" }]);
    const read = async () => (await account.get(`/api/v1/sites/${siteId}/stats?filters=page:is:/`).expect(200)).body;
    expect((await read()).coverage).toBeUndefined();
    const imported = "INSERT INTO imported_day (site_id, day, source) VALUES ($1, '2026-03-09', 'plausible')";
    await test.pool.query(imported, [siteId]);
    expect((await read()).coverage).toEqual({ from: "2026-03-10", to: "2026-03-15" });
    const compared = `/api/v1/sites/${siteId}/stats?from=2026-03-10&to=2026-03-15&compare=previous`;
    const { body } = await account.get(`${compared}&filters=page:is:/`).expect(200);
    expect(body).not.toHaveProperty("coverage");
    expect(body.previous).toMatchObject({ pageviews: 0, coverage: { from: "2026-03-04", to: "2026-03-08" } });
    expect((await account.get(compared).expect(200)).body.previous).not.toHaveProperty("coverage");
    await test.pool.query("UPDATE event_horizon SET day = '2026-03-12'");
    expect(await read()).toMatchObject({ pageviews: 1, coverage: { from: "2026-03-12", to: "2026-03-15" } });
    await test.pool.query("UPDATE event_horizon SET day = '2026-04-01'");
    expect((await read()).coverage).toEqual({ from: null, to: null });
    await test.pool.query("UPDATE event_horizon SET day = NULL");
  });
});
