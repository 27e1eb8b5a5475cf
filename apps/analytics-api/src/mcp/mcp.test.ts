import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { type TestAccount, useApp } from "../app.fixture.js";

describe("POST /mcp", () => {
  const test = useApp();
  const post = (key: string, body: object) =>
    request(test.app).post("/mcp").set("Authorization", `Bearer ${key}`).send(body);
  async function call({ key }: TestAccount, name: string, args: object = {}) {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const answer = await post(key, message).expect(200);
    const { isError = false, content } = answer.body.result;
    expect(content[0].text.length).toBeLessThanOrEqual(100_000);
    const { note, ...value } = JSON.parse(content[0].text);
    if (!isError) expect(note).toContain("untrusted data");
    return { isError, value, left: answer.headers["ratelimit-remaining"] };
  }

  it("gives sites, statistics and events of the key's account, and counts each call as a request", async () => {
    test.setNow(new Date("2026-06-02T12:00:00Z"));
    const [own, foreign] = [await test.makeAccount(), await test.makeAccount()];
    const line = { type: "event", name: "signup", ts: "2026-06-01T12:00:00Z", visitor: "v", props: { plan: "pro" } };
    const id = await own.makeSite([line], "own.example");
    const other = await foreign.makeSite([], "other.example");
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const { tools } = (await post(own.key, list).expect(200)).body.result;
    expect(tools.map(({ name }: { name: string }) => name)).toEqual([
      "list_sites",
      "get_stats",
      "get_events",
      "get_ai",
    ]);
    expect(tools[1].inputSchema).toMatchObject({ required: ["id"], properties: { range: {}, filters: {} } });
    for (const [name, args, path] of [
      ["list_sites", {}, "/sites"],
      [
        "get_stats",
        { id, range: "7d", limit: 3, metrics: ["visits", "events"] },
        `/sites/${id}/stats?range=7d&limit=3&metrics=visits,events`,
      ],
      ["get_events", { id }, `/sites/${id}/events`],
      ["get_ai", { id }, `/sites/${id}/ai`],
    ] as const) {
      const { isError, value, left } = await call(own, name, args);
      const answer = await own.get(`/api/v1${path}`).expect(200);
      expect([name, isError, value]).toEqual([name, false, answer.body]);
      expect(Number(left) - Number(answer.headers["ratelimit-remaining"])).toBe(1);
    }
    expect(await call(own, "get_stats", { id: other })).toMatchObject({
      isError: true,
      value: { error: "Site not found" },
    });
  });

  it("refuses free accounts, calls above the limit, wrong arguments, and requests without a key", async () => {
    const [free, pro] = [await test.makeAccount("free"), await test.makeAccount()];
    expect(await call(free, "list_sites")).toMatchObject({ isError: true, value: { upgrade_url: expect.any(String) } });
    const wrong = await call(pro, "get_stats", { id: "x", site: "y" });
    expect(wrong).toMatchObject({
      isError: true,
      value: { fields: { site: expect.stringContaining("Unknown argument") } },
    });
    for (let n = 1; n < 60; n++) await call(pro, "list_sites");
    expect(await call(pro, "list_sites")).toMatchObject({ isError: true, value: { error: "Rate limit exceeded" } });
    await request(test.app).post("/mcp").send({}).expect(401);
    await request(test.app).get("/mcp").expect(405);
    expect((await post(pro.key, { jsonrpc: "2.0", id: 1, method: "x".repeat(70_000) })).status).toBe(413);
  });
});
