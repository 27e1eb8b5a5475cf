import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { importEvents } from "@waymark/web-stats/analytics";
import { createFunnel, createGoal, storeDays } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import request from "supertest";
import { type Line, useApp } from "../app.fixture.js";
import { type NaiveVisit, originOf, visitsOf } from "../stats/naive-visits.fixture.js";

const test = useApp();
const now = new Date("2026-03-15T10:00:00Z");

async function open(lines: readonly Line[] = []) {
  test.setNow(now);
  const account = await test.makeAccount();
  const siteId = await account.makeSite([...lines]);
  const path = (rest: string) => `/api/v1/sites/${siteId}/${rest}`;
  return {
    account,
    siteId,
    path,
    get: async (rest: string) => (await account.get(path(rest)).expect(200)).body,
    /** Adds events that come late. */
    async add(later: readonly Line[]) {
      const input = Readable.from(later.map((one) => Buffer.from(`${JSON.stringify(one)}\n`)));
      await importEvents({ pool: test.directPool, site: { id: siteId, domain: "example.com" }, input });
    },
    goal: async (input: Parameters<typeof createGoal>[2]) => (await createGoal(test.pool, siteId, input)).id,
    funnel: async (name: string, steps: string[]) => (await createFunnel(test.pool, siteId, { name, steps })).id,
  };
}

const view = (time: string, path: string, visitor?: string, more: object = {}): Line => ({
  ts: `2026-03-${time}Z`,
  path,
  visitor,
  ...more,
});
const event = (time: string, name: string, visitor?: string, more: object = {}): Line => ({
  ts: `2026-03-${time}Z`,
  type: "event",
  name,
  path: "/",
  visitor,
  ...more,
});
const eur = (amount: string) => ({ revenue: { currency: "EUR", amount } });
const usd = (amount: string) => ({ revenue: { currency: "USD", amount } });

describe("GET /api/v1/sites/:id/goals", () => {
  it("answers exactly the documented fields, oldest goal first", async () => {
    const { get, goal } = await open([
      view("14T08:00:00", "/pricing", "a"),
      event("14T08:01:00", "buy", "a", eur("0.10")),
      event("14T08:02:00", "buy", "a", { ...eur("0.20"), props: { plan: "pro" } }),
      view("15T08:00:00", "/pricing/team", "a"),
      view("15T08:00:00", "/", "b"),
      event("15T08:01:00", "buy", "b", usd("-3.5")),
      event("15T08:01:00", "buy", undefined, usd("1")),
      view("15T08:01:00", "/pricing"),
    ]);
    const [buy, pro, pricing, none] = [
      await goal({ event: "buy", name: "Bought" }),
      await goal({ event: "buy", property: "plan", value: "pro" }),
      await goal({ page: "/pricing*" }),
      await goal({ page: "/Pricing" }),
    ];
    const revenue = [
      { currency: "EUR", amount: "0.3" },
      { currency: "USD", amount: "-2.5" },
    ];
    expect(await get("goals?range=7d")).toEqual({
      range: "7d",
      goals: [
        { id: buy, name: "Bought", visitors: 2, count: 4, conversionRate: 2 / 3, revenue },
        {
          id: pro,
          name: "buy: plan=pro",
          visitors: 1,
          count: 1,
          conversionRate: 1 / 3,
          revenue: [{ currency: "EUR", amount: "0.2" }],
        },
        { id: pricing, name: "/pricing*", visitors: 2, count: 3, conversionRate: 2 / 3 },
        { id: none, name: "/Pricing", visitors: 0, count: 0, conversionRate: 0 },
      ],
    });
    const filtered = await get("goals?from=2026-03-15&to=2026-03-15&filters=page:is:/");
    expect(filtered).toMatchObject({ range: "custom", from: "2026-03-15", to: "2026-03-15" });
    expect(filtered.goals[0]).toMatchObject({ visitors: 1, count: 1, conversionRate: 1 });
    expect(filtered.goals[2]).toMatchObject({ visitors: 0, count: 0, conversionRate: 0 });
  });

  it("is empty without goals, and a rate is at most 1 where events alone reach a goal", async () => {
    const { get, goal } = await open([event("15T08:00:00", "buy", "a"), event("15T08:00:00", "buy", "b")]);
    expect(await get("goals")).toEqual({ range: "7d", goals: [] });
    const id = await goal({ event: "buy" });
    expect((await get("goals?range=today")).goals).toEqual([
      { id, name: "buy", visitors: 2, count: 2, conversionRate: 0 },
    ]);
  });

  it("matches pages with quotes, percent signs and signs of patterns as they are written", async () => {
    const odd = "/.+[x]$(%_'\"\\)";
    const { get, goal } = await open([view("15T08:00:00", odd, "a"), view("15T08:00:00", "/xx", "b")]);
    for (const page of [odd, "/.+[x]*\\)", "/_x", "/%", "/.*"]) await goal({ page });
    const { goals } = await get("goals?range=today");
    expect(goals.map(({ count }: { count: number }) => count)).toEqual([1, 1, 0, 0, 1]);
  });

  it("names the days that it covers where raw events are gone", async () => {
    const { get, goal } = await open([view("10T08:00:00", "/", "a"), view("15T08:00:00", "/", "a")]);
    await goal({ page: "/" });
    await test.pool.query("UPDATE event_horizon SET day = '2026-03-14'");
    const { goals, coverage } = await get("goals?range=7d");
    expect({ coverage, goals }).toMatchObject({
      coverage: { from: "2026-03-14", to: "2026-03-15" },
      goals: [{ visitors: 1, count: 1, conversionRate: 1 }],
    });
    expect((await get("goals?from=2026-03-01&to=2026-03-10")).coverage).toEqual({ from: null, to: null });
    expect((await get("goals?range=today")).coverage).toBeUndefined();
    await test.pool.query("UPDATE event_horizon SET day = NULL");
  });
});

describe("GET /api/v1/sites/:id/funnels", () => {
  it("lists funnels, and answers one with its steps", async () => {
    const { get, goal, funnel } = await open([
      view("15T08:00:00", "/", "a"),
      event("15T08:01:00", "buy", "a"),
      // A second visit of the day.
      view("15T09:01:00", "/thanks", "a"),
      view("15T08:00:00", "/", "b"),
      view("15T08:01:00", "/thanks", "b"),
      event("15T08:02:00", "buy", "b"),
      // Another day begins anew.
      view("14T23:59:00", "/", "c"),
      event("15T00:01:00", "buy", "c"),
      view("15T08:00:00", "/", "d"),
    ]);
    const steps = [await goal({ page: "/" }), await goal({ event: "buy" }), await goal({ page: "/thanks" })];
    const id = await funnel("Checkout", steps);
    expect(await get("funnels")).toEqual({ funnels: [{ id, name: "Checkout" }] });
    expect(await get(`funnels/${id}?range=7d`)).toEqual({
      range: "7d",
      id,
      name: "Checkout",
      steps: [
        { goalId: steps[0], name: "/", visitors: 4, dropOff: 0, conversionRate: 1 },
        { goalId: steps[1], name: "buy", visitors: 2, dropOff: 0.5, conversionRate: 0.5 },
        { goalId: steps[2], name: "/thanks", visitors: 1, dropOff: 0.5, conversionRate: 0.25 },
      ],
    });
    const filtered = await get(`funnels/${id}?range=today&filters=page:is:/nowhere`);
    expect(filtered.steps.map(({ dropOff, conversionRate }: Line) => [dropOff, conversionRate])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it("knows no funnel of another site, and no site of another account", async () => {
    const { account, path, goal, funnel } = await open();
    const id = await funnel("f", [await goal({ page: "/" }), await goal({ page: "/" })]);
    const other = await open();
    await other.account.get(other.path(`funnels/${id}`)).expect(404, { error: "Funnel not found" });
    await account.get(path("funnels/x")).expect(404, { error: "Funnel not found" });
    for (const rest of ["goals", "funnels", `funnels/${id}`]) {
      await other.account.get(path(rest)).expect(404, { error: "Site not found" });
      await request(test.app).get(path(rest)).expect(401);
    }
  });
});

describe("goals and funnels", () => {
  it("refuse wrong and unknown parameters by name", async () => {
    const { account, path, goal, funnel } = await open();
    const id = await funnel("f", [await goal({ page: "/" }), await goal({ page: "/" })]);
    for (const rest of ["goals", `funnels/${id}`]) {
      for (const field of ["range", "filters", "from", "limit"]) {
        const { body } = await account.get(path(`${rest}?${field}=x`)).expect(400);
        expect(body.fields).toHaveProperty(field);
      }
      await account.get(path(`${rest}?filters=country:is:(other)`)).expect(400);
    }
    await account.get(path("funnels?range=7d")).expect(400);
  });

  const line = fc.record({
    minute: fc.integer({ min: 0, max: 2 * 24 * 12 - 1 }).map((step) => step * 5),
    type: fc.constantFrom("pageview" as const, "pageview" as const, "event" as const, "engagement" as const),
    name: fc.constantFrom("signup", "buy"),
    path: fc.constantFrom("/", "/a", "/a/b", "/%"),
    country: fc.constantFrom(undefined, "DE"),
    visitor: fc.constantFrom(undefined, "1", "2", "3"),
    props: fc.record({ plan: fc.constantFrom<string | boolean | number>("pro", "", true, 1.5) }, { requiredKeys: [] }),
    revenue: fc.constantFrom(
      undefined,
      ...[eur("0.1"), eur("-12.000001"), usd("999999999999999999.999999")].map(({ revenue }) => revenue),
    ),
    interactive: fc.constantFrom(undefined, false),
  });
  type Drawn = NaiveVisit["lines"][number] & {
    props?: Record<string, unknown>;
    revenue?: { currency: string; amount: string } | undefined;
  };

  const isEvent = (name: string) => (line: Drawn) => line.type === "event" && line.name === name;
  const isPage = (pattern: RegExp) => (line: Drawn) => line.type === "pageview" && pattern.test(line.url);
  const hasPlan = (value: string) => (line: Drawn) =>
    isEvent("signup")(line) && line.props?.["plan"] !== undefined && String(line.props["plan"]) === value;
  const plan = { event: "signup", property: "plan" };
  const rules: [Parameters<typeof createGoal>[2], (line: Drawn) => boolean][] = [
    [{ event: "signup" }, isEvent("signup")],
    [{ event: "buy" }, isEvent("buy")],
    [{ ...plan, value: "true" }, hasPlan("true")],
    [{ ...plan, value: "" }, hasPlan("")],
    [{ page: "/" }, isPage(/^\/$/)],
    [{ page: "/a*" }, isPage(/^\/a.*$/)],
    [{ page: "*" }, isPage(/^/)],
    [{ page: "/*%" }, isPage(/%$/)],
  ];
  const visitFilters: [string, (visit: NaiveVisit) => boolean][] = [
    ["", () => true],
    ["filters=country:is:DE", (visit) => originOf(visit)?.country === "DE"],
    ["filters=page:contains:/a", ({ lines }) => (lines as Drawn[]).some(isPage(/\/a/))],
    [
      "filters=event:isNot:buy;page:is:/",
      ({ lines }) => !(lines as Drawn[]).some(isEvent("buy")) && (lines as Drawn[]).some(isPage(/^\/$/)),
    ],
  ];

  /** Millionths by currency. */
  function revenueOf(lines: readonly Drawn[]) {
    const sums = new Map<string, bigint>();
    for (const { revenue } of lines) {
      if (!revenue) continue;
      const { currency, amount } = revenue;
      const [whole = "", fraction = ""] = amount.split(".");
      sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(whole + fraction.padEnd(6, "0")));
    }
    return Object.fromEntries([...sums].map(([currency, millionths]) => [currency, String(millionths)]));
  }

  const dayAndVisitor = ({ ts, visitor }: Drawn) => `${ts.slice(0, 10)} ${visitor}`;
  const countVisitors = (lines: readonly Drawn[]) =>
    new Set(lines.filter(({ visitor }) => visitor).map(dayAndVisitor)).size;

  /** The number of steps that the lines of a visitor's day fulfil. */
  function walk(lines: readonly Drawn[], steps: readonly ((line: Drawn) => boolean)[]): number {
    let done = 0;
    for (const line of lines) if (steps[done]?.(line)) done++;
    return done;
  }

  it("have the figures of a naive recount, with filters and without, for stored days and late events too", async () => {
    const steps = fc.array(fc.integer({ min: 0, max: rules.length - 1 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 50 }), fc.nat(50), steps, async (drawn, early, order) => {
        const all = drawn.map(({ minute, path, name, props, revenue, interactive, type, ...rest }, n) => {
          const ts = new Date(Date.UTC(2026, 2, 14, 0, minute, 0, n)).toISOString();
          const line = { ...rest, type, ts, url: path, referrer: undefined };
          if (type === "engagement") return { ...line, engaged_ms: 5_000, scroll_depth: 50 };
          return type === "event" ? { ...line, name, props, revenue, interactive } : line;
        });
        const lines = all.filter(({ type }) => type !== "engagement") as Drawn[];
        const { siteId, get, add, goal, funnel } = await open(all.slice(0, early));
        if (early % 2 === 0) await storeDays(test.pool, { siteIds: [siteId], before: "2026-03-16" });
        await add(all.slice(early));
        const ids: string[] = [];
        for (const [input] of rules) ids.push(await goal(input));
        const funnelId = await funnel(
          "f",
          order.map((index) => ids[index] ?? ""),
        );
        for (const [filter, matches] of visitFilters) {
          const visits = visitsOf(lines).filter(matches);
          const counted = filter === "" ? lines : (visits.flatMap((visit) => visit.lines) as Drawn[]);
          const uniqueVisitors = countVisitors(counted.filter(({ type }) => type === "pageview"));
          const { goals } = await get(`goals?range=7d&${filter}`);
          expect(await get(`stats?range=7d&${filter}`)).toMatchObject({ uniqueVisitors });
          for (const [index, [, isOf]] of rules.entries()) {
            const own = counted.filter(isOf);
            const visitors = countVisitors(own);
            const conversionRate = uniqueVisitors === 0 ? 0 : Math.min(1, visitors / uniqueVisitors);
            expect(goals[index]).toMatchObject({ visitors, count: own.length, conversionRate });
            const sums = (goals[index].revenue ?? []).map(({ currency, amount }: Record<string, string>) => {
              const [whole = "", fraction = ""] = (amount ?? "").split(".");
              return [currency, String(BigInt(whole + fraction.padEnd(6, "0")))];
            });
            expect(Object.fromEntries(sums)).toEqual(revenueOf(own));
          }
          await checkFunnel(await get(`funnels/${funnelId}?range=7d&${filter}`), visits, order);
        }
      }),
      randomRuns(8),
    );
  });

  async function checkFunnel(body: { steps: object[] }, visits: readonly NaiveVisit[], order: readonly number[]) {
    const days = new Map<string, Drawn[]>();
    for (const visit of visits) {
      const lines = visit.lines as Drawn[];
      const key = lines[0] ? dayAndVisitor(lines[0]) : "";
      days.set(key, [...(days.get(key) ?? []), ...lines]);
    }
    const tests = order.map((index) => rules[index]?.[1] ?? (() => false));
    const reached = [...days.values()].map((lines) =>
      walk(
        lines.sort((a, b) => (a.ts < b.ts ? -1 : 1)),
        tests,
      ),
    );
    for (const [step, figures] of body.steps.entries()) {
      const atLeast = (count: number) => reached.filter((done) => done >= count).length;
      const [visitors, before, first] = [atLeast(step + 1), atLeast(step), atLeast(1)];
      expect(figures).toMatchObject({
        visitors,
        dropOff: step === 0 || before === 0 ? 0 : (before - visitors) / before,
        conversionRate: first === 0 ? 0 : visitors / first,
      });
    }
  }
});
