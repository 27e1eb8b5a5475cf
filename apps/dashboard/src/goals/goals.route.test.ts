import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { makeSite, useAnalyticsApi } from "../statistics/statistics.fixture.js";

const dashboard = useDashboard();
const api = useAnalyticsApi(dashboard);
const now = new Date("2026-03-15T10:30:00.000Z");
const nobody = "00000000-0000-7000-8000-000000000000";

const lines = [
  { ts: "2026-03-15T08:00:00Z", path: "/", visitor: "a" },
  { ts: "2026-03-15T08:01:00Z", path: "/", visitor: "a", type: "event", name: "signup", props: { plan: "pro" } },
  { ts: "2026-03-15T08:00:00Z", path: "/", visitor: "b" },
];

async function open() {
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
    const { body } = await owner.get(path("goals?range=today")).expect(200);
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
    expect((await owner.get(path("funnels")).expect(200)).body).toEqual({
      funnels: [{ ...funnel, steps: steps.map(({ id, name }) => ({ goalId: id, name })) }],
    });
    const { body } = await owner.get(path(`funnels/${funnel.id}?range=today`)).expect(200);
    expect(body.steps).toMatchObject([{ visitors: 2 }, { visitors: 1, dropOff: 0.5, conversionRate: 0.5 }]);
    const ask = await api.client(accountId);
    expect(body).toEqual((await ask(path(`funnels/${funnel.id}?range=today`)).expect(200)).body);
    const wrong = await owner.post(path("funnels"), { name: "f", steps: [nobody, nobody] }).expect(400);
    expect(wrong.body.fields).toEqual({ steps: `The site has no goal '${nobody}'` });
  });
});

describe("goals and funnels", () => {
  it("200: are deleted by owners, a funnel before its goals; 403: not by members, who may add", async () => {
    const { accountId, owner, path } = await open();
    const member = await dashboard.signIn(accountId, "member");
    const { id } = (await member.post(path("goals"), { page: "/" }).expect(201)).body;
    const funnel = (await member.post(path("funnels"), { name: "f", steps: [id, id] }).expect(201)).body;
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
    const ways = ["goals", "funnels", `funnels/${funnel.id}`];
    for (const way of ways) await other.owner.get(own.path(way)).expect(404, { error: "Site not found" });
    await other.owner.post(own.path("goals"), { page: "/" }).expect(404);
    await other.owner.post(own.path("funnels"), { name: "f", steps: [id, id] }).expect(404);
    for (const { path } of [own, other]) {
      await other.owner.delete(path(`funnels/${funnel.id}`)).expect(404);
      await other.owner.delete(path(`goals/${id}`)).expect(404);
    }
    await other.owner.get(other.path(`funnels/${funnel.id}`)).expect(404, { error: "Funnel not found" });
    await other.owner.post(other.path("funnels"), { name: "f", steps: [id, id] }).expect(400);
    expect((await own.owner.get(own.path("funnels"))).body.funnels).toHaveLength(1);
  });
});
