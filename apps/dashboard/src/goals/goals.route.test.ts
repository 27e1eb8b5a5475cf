import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import { type Line, makeSite, useAnalyticsApi } from "../statistics/statistics.fixture.js";

const dashboard = useDashboard();
const api = useAnalyticsApi(dashboard);
const now = new Date("2026-03-15T10:30:00.000Z");
const nobody = "00000000-0000-7000-8000-000000000000";

const usual: readonly Line[] = [
  { ts: "2026-03-15T08:00:00Z", path: "/", visitor: "a" },
  { ts: "2026-03-15T08:01:00Z", path: "/", visitor: "a", type: "event", name: "signup", props: { plan: "pro" } },
  { ts: "2026-03-15T08:00:00Z", path: "/", visitor: "b" },
];

async function open(lines: readonly Line[] = usual) {
  dashboard.setNow(now);
  api.setNow(now);
  const accountId = await dashboard.makeAccount();
  const owner = await dashboard.signIn(accountId);
  const siteId = await makeSite(dashboard, { accountId, lines });
  const path = (rest: string) => `/sites/${siteId}/${rest}`;
  const create = async (rest: string, body: object) => (await owner.post(path(rest), body).expect(201)).body;
  return { accountId, owner, siteId, path, create };
}

describe("goals of a site", () => {
  it("201 and 200: are added, and listed with the analytics API's figures", async () => {
    const { accountId, owner, path, create } = await open();
    const made = [
      await create("goals", { event: "signup", property: "plan", value: "pro", name: "Paid" }),
      await create("goals", { page: "/" }),
    ];
    expect(made).toEqual([
      { id: expect.any(String), name: "Paid" },
      { id: expect.any(String), name: "/" },
    ]);
    const { body } = await owner.get(path("goals?range=today&compare=off")).expect(200);
    expect(body).toEqual({
      range: "today",
      goals: [
        {
          ...made[0],
          event: "signup",
          property: "plan",
          value: "pro",
          page: null,
          visitors: 1,
          count: 1,
          conversionRate: 0.5,
        },
        {
          ...made[1],
          event: null,
          property: null,
          value: null,
          page: "/",
          visitors: 2,
          count: 2,
          conversionRate: 1,
        },
      ],
    });
    const ask = await api.client(accountId);
    expect(body).toMatchObject((await ask(path("goals?range=today")).expect(200)).body);
    const filtered = await owner.get(path("goals?range=today&filters=event:isNot:signup")).expect(200);
    expect(filtered.body.goals).toMatchObject([{ visitors: 0 }, { visitors: 1, conversionRate: 1 }]);
  });

  it("200: get another rule, also for past visits", async () => {
    const { owner, path, create } = await open();
    const { id } = await create("goals", { event: "signup" });
    const { body } = await owner.put(path(`goals/${id}`), { page: "/", name: "Start" }).expect(200);
    expect(body).toEqual({ id, name: "Start" });
    const { goals } = (await owner.get(path("goals?range=today&compare=off")).expect(200)).body;
    expect(goals).toMatchObject([{ id, name: "Start", event: null, page: "/", visitors: 2 }]);
    const wrong = await owner.put(path(`goals/${id}`), { page: "/", event: "signup" }).expect(400);
    expect(wrong.body.fields).toEqual({ page: "Must not be given together with event" });
    await owner.put(path(`goals/${nobody}`), { page: "/" }).expect(404, { error: "Goal not found" });
  });

  it("200: are counted before they are made, as then; 400: by field", async () => {
    const { owner, path, create } = await open();
    for (const rule of [{ event: "signup", property: "plan", value: "pro" }, { page: "/*" }]) {
      const { id } = await create("goals", rule);
      for (const rest of ["range=today", "range=today&filters=event:isNot:signup"]) {
        const { body: counted } = await owner.get(path(`goals/count?${new URLSearchParams(rule)}&${rest}`)).expect(200);
        const { goals } = (await owner.get(path(`goals?${rest}`)).expect(200)).body;
        const { visitors, count, conversionRate } = goals.find((goal: { id: string }) => goal.id === id);
        expect(counted).toEqual({ range: "today", visitors, count, conversionRate });
      }
    }
    for (const [query, field] of [
      ["", "event"],
      ["page=", "page"],
      ["page=/&page=/", "page"],
      [`page=${"*".repeat(11)}`, "page"],
      [`page=${"a".repeat(2_001)}`, "page"],
      ["page=/&event=e", "page"],
      ["event=e&value=v", "property"],
      ["page=/&filters=colour:is:red", "filters"],
      ["page=/&range=year", "range"],
    ] as const) {
      const { body } = await owner.get(path(`goals/count?${query}`)).expect(400);
      expect([query, Object.keys(body.fields)]).toEqual([query, [field]]);
    }
  });

  it("400 and 409: are refused by field, and beyond a hundred", async () => {
    const { owner, siteId, path } = await open();
    for (const [body, field] of [
      [{}, "event"],
      [{ page: "" }, "page"],
      [{ page: "/", name: " " }, "name"],
      [{ page: "/", id: nobody }, "body"],
      [{ page: 1 }, "page"],
    ] as const) {
      const answer = await owner.post(path("goals"), body).expect(400);
      expect(Object.keys(answer.body.fields)).toEqual([field]);
    }
    const sql =
      "INSERT INTO goal (site_id, id, name, page) SELECT $1, gen_random_uuid(), 'g', '/' FROM generate_series(1, 100)";
    await dashboard.pool.query(sql, [siteId]);
    const full = await owner.post(path("goals"), { page: "/" }).expect(409);
    expect(full.body).toMatchObject({ limit: 100, reason: "A site has at most 100 goals." });
  });
});

describe("funnels of a site", () => {
  it("201 and 200: are added, listed and answered as the analytics API does", async () => {
    const { accountId, owner, path, create } = await open();
    const steps = [await create("goals", { page: "/" }), await create("goals", { event: "signup" })];
    const funnel = await create("funnels", { name: "Sign-up", steps: steps.map(({ id }) => id) });
    const { body } = await owner.get(path("funnels?range=today&compare=off")).expect(200);
    expect(body.stepsPerFunnel).toEqual({ min: 2, max: 8 });
    expect(body.funnels).toMatchObject([
      { ...funnel, steps: [{ visitors: 2 }, { visitors: 1, dropOff: 0.5, conversionRate: 0.5 }] },
    ]);
    const ask = await api.client(accountId);
    const asked = (await ask(path(`funnels/${funnel.id}?range=today`)).expect(200)).body;
    expect({ ...body.funnels[0], range: body.range }).toEqual(asked);
    const wrong = await owner.post(path("funnels"), { name: "f", steps: [nobody, nobody] }).expect(400);
    expect(wrong.body.fields).toEqual({ steps: `The site has no goal '${nobody}'` });
  });

  it("200: get another name and other steps", async () => {
    const { owner, path, create } = await open();
    const goals = [await create("goals", { page: "/" }), await create("goals", { event: "signup" })];
    const steps = goals.map(({ id }) => id);
    const { id } = await create("funnels", { name: "f", steps });
    const change = { name: "g", steps: [...steps, ...steps].reverse() };
    await owner.put(path(`funnels/${id}`), change).expect(200, { id, name: "g" });
    const { funnels } = (await owner.get(path("funnels?range=today")).expect(200)).body;
    expect(funnels).toMatchObject([{ id, name: "g", steps: change.steps.map((goalId) => ({ goalId })) }]);
    const wrong = await owner.put(path(`funnels/${id}`), { name: " ", steps: [] }).expect(400);
    expect(wrong.body.fields).toEqual({ name: "Must not be blank", steps: "Must be 2 to 8 goals" });
    await owner.put(path(`funnels/${nobody}`), change).expect(404, { error: "Funnel not found" });
  });
});

describe("goals and funnels beside the days before", () => {
  const line: fc.Arbitrary<Line> = fc.record({
    ts: fc
      .integer({ min: 0, max: 4 * 24 * 12 - 1 })
      .map((step) => new Date(Date.parse("2026-03-12") + step * 300_000).toISOString()),
    type: fc.constantFrom("pageview", "pageview", "event"),
    name: fc.constantFrom("signup", "buy"),
    path: fc.constantFrom("/", "/a", "/a/b"),
    country: fc.constantFrom(undefined, "DE"),
    visitor: fc.constantFrom(undefined, "1", "2", "3"),
    revenue: fc.constantFrom(undefined, { currency: "EUR", amount: "0.1" }, { currency: "USD", amount: "-2.000001" }),
  });
  const rules = [{ event: "signup" }, { event: "buy" }, { page: "/a*" }, { page: "*" }];

  it("are the API's as funnels are, and stop where the present day has come to", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 60 }), fc.boolean(), async (lines, isFiltered) => {
        const until = "2026-03-13T10:30:00.000Z";
        const full = await open(lines);
        const cut = await open(lines.filter(({ ts }) => ts < until));
        const filters = isFiltered ? "&filters=country:is:DE" : "";
        const ids: string[] = [];
        for (const { create } of [cut, full]) for (const rule of rules) ids.push((await create("goals", rule)).id);
        const asked = "goals?from=2026-03-14&to=2026-03-15";
        const { body } = await full.owner.get(full.path(`${asked}${filters}`)).expect(200);
        const [ask, askCut] = [await api.client(full.accountId), await api.client(cut.accountId)];
        expect(body).toMatchObject((await ask(full.path(`${asked}${filters}`)).expect(200)).body);
        const [cutIds, fullIds] = [ids.slice(0, 4), ids.slice(4)];
        const orders = (own: readonly string[]) => [own.slice(-2), own, own.toReversed()];
        const past: string[] = [];
        for (const steps of orders(cutIds)) past.push((await cut.create("funnels", { name: "f", steps })).id);
        for (const steps of orders(fullIds)) await full.create("funnels", { name: "f", steps });
        const { body: stepped } = await full.owner
          .get(full.path(`${asked.replace("goals", "funnels")}${filters}`))
          .expect(200);
        const withoutIds = (steps: readonly { goalId: string }[]) => steps.map(({ goalId: _, ...rest }) => rest);
        expect(stepped.funnels).toHaveLength(3);
        for (const [at, { before, ...funnel }] of stepped.funnels.entries()) {
          const days = (from: number) => `from=2026-03-${from}&to=2026-03-${from + 1}${filters}`;
          const { body: one } = await ask(full.path(`funnels/${funnel.id}?${days(14)}`)).expect(200);
          expect(one).toMatchObject(funnel);
          const { body: two } = await askCut(cut.path(`funnels/${past[at]}?${days(12)}`)).expect(200);
          expect(withoutIds(before)).toEqual(withoutIds(two.steps));
        }
        expect(body.comparison).toEqual({ from: "2026-03-12", to: "2026-03-13", until });
        expect(stepped.comparison).toEqual(body.comparison);
        const before = (await askCut(cut.path(`goals?from=2026-03-12&to=2026-03-13${filters}`)).expect(200)).body;
        type Goal = { id: string; before?: Goal };
        const figures = ({ id: _, ...rest }: Goal) => rest;
        expect(body.goals.map((goal: Goal) => goal.before && figures(goal.before))).toEqual(before.goals.map(figures));
      }),
      randomRuns(6),
    );
  });

  it("are without figures of days that lack events, and of no days", async () => {
    const { owner, siteId, path, create } = await open();
    const { id } = await create("goals", { page: "/" });
    await create("funnels", { name: "f", steps: [id, id] });
    await dashboard.pool.query("INSERT INTO imported_day VALUES ($1, '2026-03-14', 'plausible')", [siteId]);
    for (const query of ["range=today", "range=7d&compare=off"]) {
      const { body } = await owner.get(path(`goals?${query}`)).expect(200);
      expect(body.comparison).toBeUndefined();
      expect(body.goals[0]).not.toHaveProperty("before");
      const { body: stepped } = await owner.get(path(`funnels?${query}`)).expect(200);
      expect([stepped.comparison, stepped.funnels.length, stepped.funnels[0].before]).toEqual([
        undefined,
        1,
        undefined,
      ]);
    }
    const { body } = await owner.get(path("goals?range=today&compare=year")).expect(200);
    expect(body.comparison).toMatchObject({ from: "2025-03-15", to: "2025-03-15" });
  });
});

describe("goals and funnels", () => {
  it("200: are changed and deleted by owners, a funnel before its goals; 403: not by members, who may add", async () => {
    const { accountId, owner, path } = await open();
    const member = await dashboard.signIn(accountId, "member");
    const { id } = (await member.post(path("goals"), { page: "/" }).expect(201)).body;
    const funnel = (await member.post(path("funnels"), { name: "f", steps: [id, id] }).expect(201)).body;
    await member.put(path(`funnels/${funnel.id}`), { name: "g", steps: [id, id] }).expect(403);
    await member.put(path(`goals/${id}`), { page: "/" }).expect(403);
    await member.delete(path(`funnels/${funnel.id}`)).expect(403);
    await member.delete(path(`goals/${id}`)).expect(403);
    const used = await owner.delete(path(`goals/${id}`)).expect(409);
    expect(used.body.error).toBe("A funnel has this goal as a step. Delete the funnel first.");
    await owner.delete(path(`funnels/${funnel.id}`)).expect(200);
    await owner.delete(path(`goals/${id}`)).expect(200);
    expect((await owner.get(path("goals"))).body.goals).toEqual([]);
  });

  it("404: are of their own site and account alone", async () => {
    const [own, other] = [await open(), await open()];
    const { id } = await own.create("goals", { page: "/" });
    const funnel = await own.create("funnels", { name: "f", steps: [id, id] });
    const ways = ["goals", "goals/count?page=/", "funnels"];
    for (const way of ways) await other.owner.get(own.path(way)).expect(404, { error: "Site not found" });
    await other.owner.post(own.path("goals"), { page: "/" }).expect(404);
    await other.owner.post(own.path("funnels"), { name: "f", steps: [id, id] }).expect(404);
    for (const { path } of [own, other]) {
      await other.owner.put(path(`funnels/${funnel.id}`), { name: "g", steps: [id, id] });
      await other.owner.put(path(`goals/${id}`), { page: "/x" }).expect(404);
      await other.owner.delete(path(`funnels/${funnel.id}`)).expect(404);
      await other.owner.delete(path(`goals/${id}`)).expect(404);
    }
    await other.owner.post(other.path("funnels"), { name: "f", steps: [id, id] }).expect(400);
    const { funnels } = (await own.owner.get(own.path("funnels"))).body;
    expect(funnels).toMatchObject([{ name: "f", steps: [{ name: "/" }, { name: "/" }] }]);
  });
});
