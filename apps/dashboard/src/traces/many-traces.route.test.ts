import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { maxIds } from "../many-ids.js";
import { insertTrace } from "./traces.fixture.js";
import type { TraceList } from "./traces.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;

async function open(count = 3) {
  const accountId = await dashboard.makeAccount();
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    ids.push(await insertTrace(pool, accountId, { name: `trace ${n}`, input: "a", ago: n }));
  const owner = await dashboard.signIn(accountId);
  const left = async () => ((await owner.get("/traces").expect(200)).body as TraceList).traces.map(({ id }) => id);
  return { accountId, ids, owner, left };
}

describe("POST /traces/delete", () => {
  it("200: deletes the chosen traces with their spans, and says of each whether it did", async () => {
    const { accountId, ids, owner, left } = await open();
    const [first = "", second = "", third = ""] = ids;
    const unknown = randomUUID();
    const { body } = await owner.post("/traces/delete", { ids: [second.toUpperCase(), unknown, first] }).expect(200);
    expect(body.results).toEqual([
      { id: second, isDone: true },
      { id: unknown, isDone: false },
      { id: first, isDone: true },
    ]);
    expect(await left()).toEqual([third]);
    const { rows } = await pool.query("SELECT trace_id FROM span WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ trace_id: third }]);
    const audit = (await owner.get("/audit").expect(200)).body.entries;
    expect(audit).toMatchObject([{ action: "trace_deleted", subject: expect.stringMatching(/ and 1 more$/) }]);
    expect((await owner.post("/traces/delete", { ids: [first] }).expect(200)).body.results[0].isDone).toBe(false);
  });

  it("200: two at once wait for each other and delete each trace once", async () => {
    const { ids, owner, left } = await open(12);
    const orders = [ids, ids.toReversed(), ids];
    const answers = await Promise.all(orders.map((order) => owner.post("/traces/delete", { ids: order }).expect(200)));
    const done = answers.flatMap(({ body }) => body.results).filter(({ isDone }: { isDone: boolean }) => isDone);
    expect(done).toHaveLength(12);
    expect(await left()).toEqual([]);
  });

  it("200: another account's trace stays", async () => {
    const { ids, left } = await open();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    const { body } = await other.post("/traces/delete", { ids }).expect(200);
    expect(body.results).toEqual(ids.map((id) => ({ id, isDone: false })));
    expect(await left()).toEqual(ids);
  });

  it("400 and 403: for no ids, too many, what is no id, and a member", async () => {
    const { accountId, ids, owner, left } = await open();
    const many = Array.from({ length: maxIds + 1 }, () => randomUUID());
    for (const wrong of [[], many, ["x"], "x"]) {
      const { body } = await owner.post("/traces/delete", { ids: wrong }).expect(400);
      expect(Object.keys(body.fields)[0]).toMatch(/^ids/);
    }
    await owner.post("/traces/delete", { ids: many.slice(1) }).expect(200);
    const member = await dashboard.signIn(accountId, "member");
    await member.post("/traces/delete", { ids }).expect(403);
    expect(await left()).toEqual(ids);
  });
});

describe("GET /traces/export?ids=", () => {
  it("200: has the chosen traces in the list's order, and none of another account", async () => {
    const { ids, owner } = await open();
    const path = `/traces/export?format=ndjson&ids=${ids[2]},${ids[0]},${randomUUID()}`;
    const read = async (person: typeof owner) =>
      (await person.get(path).expect(200)).text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    expect((await read(owner)).map(({ id, rows }) => id ?? rows)).toEqual([ids[0], ids[2], 2]);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    expect(await read(other)).toEqual([{ rows: 0 }]);
    expect(Object.keys((await owner.get("/traces/export?format=csv&ids=x").expect(400)).body.fields)[0]).toMatch(
      /^ids/,
    );
  });
});
