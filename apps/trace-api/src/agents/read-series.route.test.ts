import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";

const test = useApp();

async function read(account: TestAccount, agent: string, query: Record<string, string>) {
  const { body } = await account
    .get(`/api/v1/agents/${encodeURIComponent(agent)}/series`)
    .query(query)
    .expect(200);
  return body;
}

const startOf = {
  hour: (time: string) => `${time.slice(0, 13)}:00:00.000Z`,
  day: (time: string) => `${time.slice(0, 10)}T00:00:00.000Z`,
};
const lengthOf = { hour: 3_600_000, day: 86_400_000 };

interface Trace {
  agent_id: string;
  status: string;
  started_at: string;
  ended_at: string | null;
}

/** Figures by another way than the service's SQL. */
function recount(traces: readonly Trace[]) {
  const by = (status: string) => traces.filter((trace) => trace.status === status).length;
  const [success, error, timeout, running] = [by("success"), by("error"), by("timeout"), by("running")];
  const ended = success + error + timeout;
  const durations = traces
    .filter((trace) => trace.status !== "running" && trace.ended_at !== null)
    .map(({ started_at, ended_at }) => Date.parse(ended_at ?? "") - Date.parse(started_at))
    .sort((a, b) => a - b);
  const rank = (percent: number) => durations[Math.ceil((percent / 100) * durations.length) - 1] ?? null;
  return {
    counts: { success, error, timeout, running },
    figures: {
      failure_rate: ended === 0 ? null : (error + timeout) / ended,
      p50_ms: rank(50),
      p90_ms: rank(90),
      p95_ms: rank(95),
      p99_ms: rank(99),
    },
  };
}

const start = Date.parse("2026-06-01T00:00:00Z");
const trace = fc
  .record({
    agent_id: fc.constantFrom("a", "b"),
    status: fc.constantFrom("running", "success", "error", "timeout"),
    startMs: fc.integer({ min: 0, max: 3 * 86_400_000 }),
    tookMs: fc.option(fc.nat({ max: 100_000 })),
  })
  .map(({ startMs, tookMs, ...rest }): Trace => {
    const at = (ms: number) => new Date(start + ms).toISOString();
    return { ...rest, started_at: at(startMs), ended_at: tookMs === null ? null : at(startMs + tookMs) };
  });

const noTokens = { input_tokens: 0, output_tokens: 0, cost_usd: null };

describe("GET /api/v1/agents/:agent_id/series and include=figures", () => {
  it("agree with a recount of the traces", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(trace, { maxLength: 30 }),
        fc.constantFrom("hour" as const, "day" as const),
        fc.integer({ min: 0, max: 2 * 86_400_000 }),
        fc.integer({ min: 1, max: 2 * 86_400_000 }),
        async (traces, interval, fromMs, length) => {
          const account = await test.makeAccount("pro");
          await account.makeTrace({ agent_id: "a", status: "success", started_at: "2026-05-01T00:00:00Z" });
          await Promise.all(traces.map((each) => account.makeTrace({ ...each })));
          const range = {
            from: new Date(start + fromMs).toISOString(),
            to: new Date(start + fromMs + length).toISOString(),
          };
          const inside = traces.filter(({ started_at }) => started_at >= range.from && started_at < range.to);
          const expected = [];
          const first = Date.parse(startOf[interval](range.from));
          for (let at = first; at < Date.parse(range.to); at += lengthOf[interval]) {
            const name = new Date(at).toISOString();
            const own = inside.filter((each) => each.agent_id === "a" && startOf[interval](each.started_at) === name);
            const { counts, figures } = recount(own);
            expected.push({ at: name, traces: own.length, ...counts, ...figures, ...noTokens });
          }
          expect(await read(account, "a", { ...range, interval })).toEqual({
            agent_id: "a",
            ...range,
            interval,
            series: expected,
          });
          const { body } = await account
            .get("/api/v1/agents")
            .query({ ...range, include: "figures" })
            .expect(200);
          for (const { id, traces: counts, failure_rate, p50_ms, p90_ms, p95_ms, p99_ms } of body.agents) {
            const own = recount(inside.filter(({ agent_id }) => agent_id === id));
            expect({ counts, figures: { failure_rate, p50_ms, p90_ms, p95_ms, p99_ms } }).toEqual(own);
          }
        },
      ),
      randomRuns(8),
    );
  });
});

describe("GET /api/v1/agents/:agent_id/series", () => {
  describe("200", () => {
    it("covers 30 days, or a day by hour, where there is no range", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace({ agent_id: "a/b ü?" });
      test.setNow(new Date("2026-06-03T12:30:00Z"));
      const days = await read(account, "a/b ü?", {});
      expect(days).toMatchObject({ interval: "day", from: "2026-05-04T12:30:00.000Z", to: "2026-06-03T12:30:00.000Z" });
      expect(days.series).toHaveLength(31);
      expect(days.series[28]).toMatchObject({ at: "2026-06-01T00:00:00.000Z", traces: 1, running: 1, p50_ms: null });
      const hours = await read(account, "a/b ü?", { interval: "hour" });
      expect(hours).toMatchObject({ interval: "hour", from: "2026-06-02T12:30:00.000Z" });
      expect(hours.series).toHaveLength(25);
    });

    it("keeps microseconds and leaves traces out that end before their start", async () => {
      const account = await test.makeAccount("pro");
      const [from, to] = ["2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"];
      await account.makeTrace({ status: "success", started_at: from, ended_at: "2026-06-01T00:00:00.000250Z" });
      await account.makeTrace({ status: "error", started_at: from, ended_at: "2026-05-31T00:00:00Z" });
      expect((await read(account, "agent", { from, to })).series).toMatchObject([
        { traces: 2, failure_rate: 0.5, p50_ms: 0.25, p99_ms: 0.25 },
      ]);
    });
  });

  describe("400", () => {
    it.each([
      ["interval=week", "interval"],
      ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to"],
      ["from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00.001Z&interval=hour", "from"],
      ["from=2025-04-27T00:00:00Z&to=2026-06-01T00:00:00.001Z", "from"],
      ["form=2026-06-01T00:00:00Z", "form"],
    ])("%s", async (query, field) => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      const { body } = await account.get(`/api/v1/agents/agent/series?${query}`).expect(400);
      expect(Object.keys(body.fields)).toEqual([field]);
    });

    it("not for 31 days of hours and 400 days", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      const hours = await read(account, "agent", {
        from: "2026-05-01T00:00:00Z",
        to: "2026-06-01T00:00:00Z",
        interval: "hour",
      });
      expect(hours.series).toHaveLength(744);
      const days = await read(account, "agent", { from: "2025-04-27T00:00:00Z", to: "2026-06-01T00:00:00Z" });
      expect(days.series).toHaveLength(400);
    });
  });

  describe("404", () => {
    it("answers 404 for another account's agent, an unknown one, and a text no agent has", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      await other.makeTrace({ agent_id: "theirs" });
      for (const agent of ["theirs", "none", "%00"]) {
        const { body } = await account.get(`/api/v1/agents/${agent}/series`).expect(404);
        expect(body).toEqual({ error: "Agent not found" });
      }
    });
  });

  it("counts nothing of another account's agent of the same name", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const range = { from: "2026-06-01T00:00:00Z", to: "2026-06-02T00:00:00Z" };
    await other.makeTrace({ status: "error" });
    await account.makeTrace({ status: "success" });
    expect((await read(account, "agent", range)).series).toMatchObject([{ traces: 1, success: 1, error: 0 }]);
    const { body } = await account
      .get("/api/v1/agents")
      .query({ ...range, include: "figures" })
      .expect(200);
    expect(body.agents).toMatchObject([{ failure_rate: 0 }]);
  });
});

describe("GET /api/v1/agents", () => {
  it("has figures on demand alone, with null for an agent without traces in the range", async () => {
    const account = await test.makeAccount("pro");
    await account.makeTrace({ status: "success", started_at: "2026-05-01T00:00:00Z" });
    const range = { from: "2026-06-01T00:00:00Z", to: "2026-06-02T00:00:00Z" };
    const plain = (await account.get("/api/v1/agents").query(range).expect(200)).body.agents[0];
    expect(Object.keys(plain)).toEqual(["id", "created_at", "traces", "last_started_at"]);
    const { body } = await account
      .get("/api/v1/agents")
      .query({ ...range, include: "figures" })
      .expect(200);
    const noFigures = { failure_rate: null, p50_ms: null, p90_ms: null, p95_ms: null, p99_ms: null };
    expect(body.agents[0]).toEqual({ ...plain, ...noFigures, ...noTokens });
    await account.get("/api/v1/agents?include=attributes").expect(400);
  });
});
