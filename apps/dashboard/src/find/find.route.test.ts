import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import { maxFound } from "./find.query.js";
import type { FoundNames } from "./find.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;

async function open() {
  const accountId = await dashboard.makeAccount();
  const member = await dashboard.signIn(accountId, "member");
  const find = async (q: string) => {
    const { body } = await member.get(`/find?q=${encodeURIComponent(q)}`).expect(200);
    return (body as FoundNames).found.map(({ kind, name, note }) => [kind, name, note]);
  };
  return { accountId, member, find };
}

describe("GET /find", () => {
  it("200: agents, sites and traces with all words, whatever their case", async () => {
    const { accountId, member, find } = await open();
    await member.post("/sites", { domain: "shop.example", name: "返金 Shop" }).expect(201);
    await insertTrace(pool, accountId, { agent: "Shop-Writer", name: "Refund of order 7" });
    await insertTrace(pool, accountId, { agent: "reader", name: '100%_\\ of "it"' });
    expect(await find(" SHOP ")).toEqual([
      ["agent", "Shop-Writer", null],
      ["site", "返金 Shop", "shop.example"],
    ]);
    expect(await find("order refund")).toEqual([["trace", "Refund of order 7", "Shop-Writer"]]);
    expect(await find("返金")).toEqual([["site", "返金 Shop", "shop.example"]]);
    for (const signs of ["%", "_", "\\", '"']) expect(await find(signs)).toHaveLength(1);
    expect(await find("nowhere")).toEqual([]);
  });

  it("200: conversations and users that begin so, each once", async () => {
    const { accountId, find } = await open();
    for (const session of ["chat-1", "chat-1", "chat-2", "other"])
      await insertTrace(pool, accountId, { agent: "a", name: "n", session, user: `u ${session}` });
    expect(await find("chat")).toEqual([
      ["session", "chat-1", null],
      ["session", "chat-2", null],
    ]);
    expect(await find("u chat-2")).toEqual([["user", "u chat-2", null]]);
  });

  it(`200: at most ${maxFound} of a kind`, async () => {
    const { accountId, find } = await open();
    for (let n = 0; n <= maxFound; n++) {
      const word = `many-${n}`;
      await insertTrace(pool, accountId, { agent: word, name: word, session: word, user: word, ago: n });
      const expected = Math.min(n + 1, maxFound);
      const kinds = (await find("many")).map(([kind]) => kind);
      for (const kind of ["agent", "trace", "session", "user"])
        expect([n, kind, kinds.filter((each) => each === kind).length]).toEqual([n, kind, expected]);
    }
    expect((await find("many-8")).map(([kind]) => kind)).toEqual(["agent", "trace", "session", "user"]);
  });

  it("200: has nothing of another account", async () => {
    const { accountId, member } = await open();
    await insertTrace(pool, accountId, { agent: "mine", name: "mine", session: "mine", user: "mine" });
    await member.post("/sites", { domain: "mine.example", name: "mine" }).expect(201);
    const { find } = await open();
    expect(await find("mine")).toEqual([]);
  });

  it("400: names a text that is missing, blank or too long", async () => {
    const { member } = await open();
    for (const query of ["", "?q=", "?q=%20", "?q=a%00", `?q=${"a".repeat(201)}`])
      expect(Object.keys((await member.get(`/find${query}`).expect(400)).body.fields)).toEqual(["q"]);
    await member.get(`/find?q=${"a".repeat(200)}`).expect(200);
  });
});
