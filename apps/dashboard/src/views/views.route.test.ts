import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { maxViews } from "./views.query.js";
import type { ViewList } from "./views.route.js";

const dashboard = useDashboard();
const someId = "00000000-0000-7000-8000-000000000000";

async function open() {
  const accountId = await dashboard.makeAccount();
  const member = await dashboard.signIn(accountId, "member");
  const list = async () => ((await member.get("/views").expect(200)).body as ViewList).views;
  const create = (name: string, query = "") => member.post("/views", { name, query });
  return { accountId, member, list, create };
}

describe("saved views", () => {
  it("200: are made, listed by name, renamed and deleted by a member, for all people of the account", async () => {
    const { accountId, member, list, create } = await open();
    const { body: slow } = await create(" 遅い ", "?longer=60000&columns=cost,model").expect(201);
    const { body: failed } = await create("Failed today", "?status=failed&range=24h").expect(201);
    expect(await list()).toEqual([failed, slow]);
    expect(slow).toEqual({ id: expect.any(String), name: "遅い", query: "?longer=60000&columns=cost,model" });
    await member.patch(`/views/${slow.id}`, { name: "A slow one" }).expect(200);
    const viewer = await dashboard.signIn(accountId, "viewer");
    expect((await viewer.get("/views").expect(200)).body.views.map(({ name }: { name: string }) => name)).toEqual([
      "A slow one",
      "Failed today",
    ]);
    await member.delete(`/views/${slow.id}`).expect(200);
    expect(await list()).toEqual([failed]);
    await member.delete(`/views/${slow.id}`).expect(404);
  });

  it("400: name the field of what is wrong", async () => {
    const { member, create } = await open();
    const { body } = await create("taken").expect(201);
    const { body: other } = await create("other").expect(201);
    for (const [name, query, field] of [
      ["", "", "name"],
      ["  ", "", "name"],
      ["a".repeat(81), "", "name"],
      ["a\0", "", "name"],
      ["taken", "", "name"],
      ["a", "status=failed", "query"],
      ["a", "?a b", "query"],
      ["a", "?a#b", "query"],
      ["a", `?${"a".repeat(2_000)}`, "query"],
    ] as const)
      expect([name, query, Object.keys((await create(name, query).expect(400)).body.fields)]).toEqual([
        name,
        query,
        [field],
      ]);
    expect((await member.patch(`/views/${other.id}`, { name: "taken" }).expect(400)).body.fields).toEqual({
      name: "Another view has this name",
    });
    await member.patch(`/views/${body.id}`, { name: "taken" }).expect(200);
    await create("a".repeat(80), `?${"a".repeat(1_999)}`).expect(201);
  });

  it(`409: an account has ${maxViews} at most, also by requests at once`, async () => {
    const { list, create } = await open();
    for (let n = 2; n < maxViews; n++) await create(`view ${n}`).expect(201);
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => (await create(`at once ${n}`)).status),
    );
    expect(statuses.sort()).toEqual([201, 201, 409, 409, 409, 409]);
    expect(await list()).toHaveLength(maxViews);
    const [{ id } = { id: "" }] = await list();
    const { body } = await create("one more").expect(409);
    expect(body).toMatchObject({ limit: maxViews, reason: `An account has at most ${maxViews} saved views.` });
    const { member } = await open();
    await member.delete(`/views/${id}`).expect(404);
  });

  it("404: for an unknown view, what is no id, and another account's", async () => {
    const { list, create } = await open();
    const { body: view } = await create("mine").expect(201);
    const { member: other, list: listOfOther } = await open();
    for (const id of [view.id, someId, "x", "%00"]) {
      await other.patch(`/views/${id}`, { name: "theirs" }).expect(404);
      await other.delete(`/views/${id}`).expect(404);
    }
    expect(await list()).toEqual([view]);
    expect(await listOfOther()).toEqual([]);
    await other.post("/views", { name: "mine", query: "" }).expect(201);
  });
});
