import { describe, expect, it } from "@jest/globals";
import { traceBody, useApp } from "../app.fixture.js";

describe("GET /api/v1/usage", () => {
  const test = useApp();

  it("shows a Free account's limits and what is used of them", async () => {
    const account = await test.makeAccount("free");
    test.setNow(new Date("2026-12-31T23:59:59.999Z"));
    await account.makeTrace();
    await account.makeTrace();
    await account.get("/api/v1/usage").expect(200, {
      plan: "free",
      month: "2026-12",
      traces: { limit: 1_000, current: 2, remaining: 998, resets_at: "2027-01-01T00:00:00.000Z" },
      keep: "all",
      leave_out: [],
      dropped: { traces: 0, since: "2026-12-01T00:00:00.000Z" },
      bytes: { limit: 256_000_000, current: 532, remaining: 255_999_468 },
      agents: { limit: 1, current: 1 },
      retention_days: 30,
    });
    test.setNow(new Date("2027-01-01T00:00:00Z"));
    const { body } = await account.get("/api/v1/usage").expect(200);
    expect(body).toMatchObject({ month: "2027-01", traces: { current: 0, remaining: 1_000 }, agents: { current: 1 } });
    test.setNow(new Date());
  });

  it("shows a Pro account without a limit of agents", async () => {
    const account = await test.makeAccount("pro");
    for (const agent_id of ["a", "b", "a"]) await account.makeTrace({ agent_id });
    const { body } = await account.get("/api/v1/usage").expect(200);
    expect(body).toMatchObject({
      plan: "pro",
      traces: { limit: 50_000, current: 3, remaining: 49_997 },
      bytes: { limit: 25_000_000_000 },
      agents: { limit: null, current: 2 },
      retention_days: 90,
    });
  });

  it("is all zeros before the first trace, and counts nothing of other accounts", async () => {
    const [account, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    await other.makeTrace();
    const { body } = await account.get("/api/v1/usage").expect(200);
    expect([body.traces.current, body.agents.current]).toEqual([0, 0]);
  });

  it("has nothing remaining at the limit, and after a downgrade beyond it", async () => {
    const account = await test.makeAccount("free");
    await account.makeTrace();
    const use = (traces: number) =>
      test.pool.query("UPDATE trace_usage SET traces = $2 WHERE account_id = $1", [account.id, traces]);
    const remaining = async () => (await account.get("/api/v1/usage").expect(200)).body.traces.remaining;
    await use(999);
    expect(await remaining()).toBe(1);
    await account.makeTrace();
    expect(await remaining()).toBe(0);
    await account.post("/api/v1/traces", traceBody()).expect(429);
    await use(30_000);
    expect(await remaining()).toBe(0);
  });

  it("agrees with the headers of the trace that was created last", async () => {
    const account = await test.makeAccount("pro");
    const created = await account.post("/api/v1/traces", traceBody()).expect(201);
    const { traces } = (await account.get("/api/v1/usage").expect(200)).body;
    expect(created.headers["ratelimit-limit"]).toBe(String(traces.limit));
    expect(created.headers["ratelimit-remaining"]).toBe(String(traces.remaining));
    const seconds = (Date.parse(traces.resets_at) - Date.now()) / 1000;
    expect(Math.abs(seconds - Number(created.headers["ratelimit-reset"]))).toBeLessThan(300);
  });

  it("answers HEAD as GET", async () => {
    const account = await test.makeAccount("free");
    expect(Number((await account.head("/api/v1/usage").expect(200)).headers["content-length"])).toBeGreaterThan(0);
  });
});
