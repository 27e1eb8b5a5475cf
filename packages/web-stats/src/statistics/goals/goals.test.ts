import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { byRole, createPool, grantRoles, roleUrl } from "@waymark/database";
import { useRolePrefix } from "@waymark/testing";
import { createDayColumns } from "../columns/day-columns.js";
import { useSites } from "../statistics.fixture.js";
import {
  changeFunnel,
  changeGoal,
  createFunnel,
  createGoal,
  deleteFunnel,
  deleteGoal,
  type GoalInput,
  listFunnels,
  listGoals,
  readGoal,
  requireFunnel,
} from "./goals.query.js";
import { readFunnel, readGoals } from "./read-goals.js";

const { pool, url, makeSite } = useSites();

const fieldsOf = (input: GoalInput) => {
  try {
    readGoal(input);
  } catch (error) {
    return (error as { details: { fields: object } }).details.fields;
  }
  return undefined;
};

describe("a goal", () => {
  it("has the name of its rule without one, cut to 200 bytes", () => {
    for (const [input, expected] of [
      [{ event: "signup" }, "signup"],
      [{ event: "signup", property: "plan", value: "" }, "signup: plan="],
      [{ page: "/docs/*" }, "/docs/*"],
      [{ page: "/a", name: "A" }, "A"],
      [{ page: `/${"ä".repeat(150)}` }, `/${"ä".repeat(98)}…`],
    ] as const) {
      const { name } = readGoal(input);
      expect(name).toBe(expected);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    }
  });

  it("is refused by field", () => {
    for (const [input, fields] of [
      [{}, { event: "Required without page" }],
      [{ event: "a", page: "/" }, { page: "Must not be given together with event" }],
      [{ page: "/", property: "a", value: "b" }, { property: "Must be given together with event" }],
      [{ event: "a", property: "b" }, { value: "Required together with property" }],
      [{ event: "a", value: "b" }, { property: "Required together with value" }],
      [{ event: "" }, { event: "Must not be empty" }],
      [{ event: "ä".repeat(101) }, { event: "Must be at most 200 bytes of UTF-8" }],
      [{ page: `/${"a".repeat(2_000)}` }, { page: "Must be at most 2000 bytes of UTF-8" }],
      [{ page: "/\u0000" }, { page: "Must not contain the NUL character (U+0000)" }],
      [{ page: "/", name: " " }, { name: "Must not be blank" }],
      [{ page: "/", name: "a".repeat(201) }, { name: "Must be at most 200 bytes of UTF-8" }],
    ] as [GoalInput, object][]) {
      expect(fieldsOf(input)).toEqual(fields);
    }
  });

  it("is listed in order of creation, and deleted by its own site alone", async () => {
    const [siteId, other] = [await makeSite(), await makeSite()];
    const first = await createGoal(pool, siteId, { event: "signup", property: "plan", value: "'%_\\ $1" });
    const second = await createGoal(pool, siteId, { page: "/.*[a]%\"'" });
    expect(await listGoals(pool, siteId)).toEqual([first, second]);
    expect(await listGoals(pool, other)).toEqual([]);
    for (const reference of [{ siteId: other, goalId: first.id }, { goalId: "x" }, { goalId: randomUUID() }]) {
      await expect(deleteGoal(pool, reference)).rejects.toMatchObject({ code: "goal_not_found" });
    }
    expect(await deleteGoal(pool, { siteId, goalId: first.id })).toEqual({ id: first.id, name: first.name });
    expect(await listGoals(pool, siteId)).toEqual([second]);
  });

  it("takes another rule in its place, checked as a new one", async () => {
    const [siteId, other] = [await makeSite(), await makeSite()];
    const first = await createGoal(pool, siteId, { event: "signup", property: "plan", value: "pro" });
    const second = await createGoal(pool, siteId, { page: "/b" });
    const goalId = first.id;
    expect(await changeGoal(pool, { siteId, goalId }, { page: "/a*" })).toEqual({ id: goalId, name: "/a*" });
    const rule = { event: null, property: null, value: null, page: "/a*" };
    expect(await listGoals(pool, siteId)).toEqual([{ id: goalId, name: "/a*", ...rule }, second]);
    const wrong = changeGoal(pool, { siteId, goalId }, { page: "*".repeat(11) });
    await expect(wrong).rejects.toMatchObject({ details: { fields: { page: "Must have at most 10 *" } } });
    for (const reference of [{ siteId: other, goalId }, ...[randomUUID(), "x"].map((id) => ({ siteId, goalId: id }))]) {
      await expect(changeGoal(pool, reference, { page: "/" })).rejects.toMatchObject({ code: "goal_not_found" });
    }
  });

  it("has room beside 99 others, also with two at once", async () => {
    const siteId = await makeSite();
    await pool.query(
      "INSERT INTO goal (site_id, id, name, page) SELECT $1, gen_random_uuid(), 'g', '/' FROM generate_series(1, 99)",
      [siteId],
    );
    const made = await Promise.allSettled([1, 2].map(() => createGoal(pool, siteId, { page: "/" })));
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(made.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "site_full" } });
    await expect(createGoal(pool, randomUUID(), { page: "/" })).rejects.toMatchObject({ code: "site_not_found" });
  });
});

describe("a funnel", () => {
  async function makeGoals() {
    const siteId = await makeSite();
    const goals = [await createGoal(pool, siteId, { page: "/" }), await createGoal(pool, siteId, { event: "signup" })];
    return { siteId, goals, steps: goals.map(({ id }) => id) };
  }

  it("has its goals as steps in their order, also twice", async () => {
    const { siteId, goals, steps } = await makeGoals();
    const [page, event] = goals;
    const { id } = await createFunnel(pool, siteId, { name: "f", steps: [...steps, ...steps].reverse() });
    const funnel = { id, name: "f", steps: [event, page, event, page] };
    expect(await listFunnels(pool, siteId)).toEqual([funnel]);
    expect(await requireFunnel(pool, siteId, id)).toEqual(funnel);
    const other = await makeSite();
    for (const [site, one] of [
      [other, id],
      [siteId, "x"],
    ] as const) {
      await expect(requireFunnel(pool, site, one)).rejects.toMatchObject({ code: "funnel_not_found" });
    }
  });

  it("takes another name and other steps in its place, checked as a new one", async () => {
    const { siteId, goals, steps } = await makeGoals();
    const { id: funnelId } = await createFunnel(pool, siteId, { name: "f", steps });
    const third = await createGoal(pool, siteId, { page: "/c" });
    const order = [third.id, ...steps.toReversed()];
    const changes = [order, order.toReversed(), order].map((each) =>
      changeFunnel(pool, { siteId, funnelId }, { name: "g", steps: each }),
    );
    expect(await Promise.all(changes)).toEqual(Array(3).fill({ id: funnelId, name: "g" }));
    await changeFunnel(pool, { siteId, funnelId }, { name: "g", steps: order });
    const funnel = { id: funnelId, name: "g", steps: [third, ...goals.toReversed()] };
    expect(await listFunnels(pool, siteId)).toEqual([funnel]);
    const wrong = changeFunnel(pool, { siteId, funnelId }, { name: "h", steps: [...steps, randomUUID()] });
    await expect(wrong).rejects.toMatchObject({ code: "validation_failed" });
    const other = await makeGoals();
    for (const reference of [
      { siteId: other.siteId, funnelId, own: other.steps },
      ...[randomUUID(), "x"].map((id) => ({ siteId, funnelId: id, own: steps })),
    ]) {
      const change = changeFunnel(pool, reference, { name: "h", steps: reference.own });
      await expect(change).rejects.toMatchObject({ code: "funnel_not_found" });
    }
    expect(await listFunnels(pool, siteId)).toEqual([funnel]);
  });

  it("keeps its goals until it is deleted", async () => {
    const { siteId, goals, steps } = await makeGoals();
    const { id: funnelId } = await createFunnel(pool, siteId, { name: "f", steps });
    const goalId = steps[0] ?? "";
    await expect(deleteGoal(pool, { siteId, goalId })).rejects.toMatchObject({ code: "goal_in_use" });
    const siteOfOther = await makeSite();
    const foreign = deleteFunnel(pool, { siteId: siteOfOther, funnelId });
    await expect(foreign).rejects.toMatchObject({ code: "funnel_not_found" });
    expect(await deleteFunnel(pool, { siteId, funnelId })).toEqual({ id: funnelId, name: "f" });
    expect(await listGoals(pool, siteId)).toEqual(goals);
    await deleteGoal(pool, { goalId });
  });

  it("goes with its site, and the site's goals too", async () => {
    const { siteId, steps } = await makeGoals();
    await createFunnel(pool, siteId, { name: "f", steps });
    await pool.query("DELETE FROM site WHERE id = $1", [siteId]);
    const { rows } = await pool.query(
      "SELECT id FROM goal WHERE site_id = $1 UNION ALL SELECT funnel_id FROM funnel_step WHERE site_id = $1",
      [siteId],
    );
    expect(rows).toEqual([]);
  });

  it("is refused by field", async () => {
    const { siteId, steps } = await makeGoals();
    const foreign = (await makeGoals()).steps;
    const create = (input: { name?: string; steps?: string[] }) =>
      createFunnel(pool, siteId, { name: "f", steps, ...input });
    for (const [input, fields] of [
      [{ name: "" }, { name: "Must not be blank" }],
      [{ steps: steps.slice(1) }, { steps: "Must be 2 to 8 goals" }],
      [{ steps: Array(9).fill(steps[0]) }, { steps: "Must be 2 to 8 goals" }],
      [{ steps: [...steps, "x"] }, { steps: "The site has no goal 'x'" }],
      [{ steps: foreign }, { steps: `The site has no goal '${foreign[0]}'` }],
    ] as const) {
      await expect(create({ ...input, steps: [...("steps" in input ? input.steps : steps)] })).rejects.toMatchObject({
        code: "validation_failed",
        details: { fields },
      });
    }
    await create({ steps: steps.map((id) => id.toUpperCase()) });
    await pool.query(
      "INSERT INTO funnel (site_id, id, name) SELECT $1, gen_random_uuid(), 'f' FROM generate_series(1, 49)",
      [siteId],
    );
    await expect(create({})).rejects.toMatchObject({ code: "site_full", details: { limit: 50 } });
  });
});

const prefix = useRolePrefix();

describe("the services' roles", () => {
  it("read goals and funnels; the dashboard's alone changes them", async () => {
    const passwords = byRole((role) => `password-of-${role}`);
    await grantRoles(url, passwords, prefix);
    const siteId = await makeSite();
    const [dashboard, api] = (["dashboard", "analytics_api"] as const).map((role) =>
      createPool({
        connectionString: roleUrl(url, role, passwords[role], prefix),
        maxConnections: 2,
        applicationName: "test",
        statementTimeoutMs: 10_000,
      }),
    );
    if (!dashboard || !api) throw new Error("no pools");
    const { id } = await createGoal(dashboard, siteId, { page: "/" });
    const { id: funnelId } = await createFunnel(dashboard, siteId, { name: "f", steps: [id, id] });
    // An event without a visitor.
    await pool.query("INSERT INTO daily_stat VALUES ($1, 'total', '2026-03-14', '', 0, 1)", [siteId]);
    await pool.query(
      "INSERT INTO event (site_id, id, at, type, channel, path) SELECT $1, uuid_floor(at), at, 'pageview', 'Direct', '/' FROM (VALUES ('2026-03-14T12:00:00Z'::timestamptz)) AS moment (at)",
      [siteId],
    );
    const days = { first: "2026-03-10", last: "2026-03-15" };
    for (const one of [dashboard, api]) {
      const deps = { pool: one, columns: createDayColumns({ pool: one, maxBytes: 1_000_000 }).open("account") };
      const { goals } = await readGoals(deps, { siteId, days, filters: [] });
      expect(goals).toEqual([{ id, name: "/", visitors: 0, count: 1, conversionRate: 0 }]);
      expect(await readFunnel(deps, { siteId, funnelId, days, filters: [] })).toMatchObject({ id: funnelId });
    }
    await expect(createGoal(api, siteId, { page: "/" })).rejects.toMatchObject({ code: "42501" });
    await expect(deleteFunnel(api, { siteId, funnelId })).rejects.toMatchObject({ code: "42501" });
    const late = changeGoal(api, { siteId, goalId: id }, { page: "/" });
    await expect(late).rejects.toMatchObject({ code: "42501" });
    await changeGoal(dashboard, { siteId, goalId: id }, { page: "/b" });
    await changeFunnel(dashboard, { siteId, funnelId }, { name: "g", steps: [id, id, id] });
    await deleteFunnel(dashboard, { siteId, funnelId });
    await deleteGoal(dashboard, { siteId, goalId: id });
    await Promise.all([dashboard.end(), api.end()]);
  });
});
