import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import type { AgentDetail, AgentList, DurationList } from "./agents.route.js";

const test = useDashboard();
const now = new Date("2026-06-30T15:00:00Z");
const dayMs = 86_400_000;

interface Made {
  agent: string;
  status: string;
  at: Date;
  ms: number | null;
}

async function store(accountId: string, traces: readonly Made[]) {
  await test.pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     SELECT $1, gen_random_uuid(), agent, 'n', status, at, at + ms * interval '1 ms'
     FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::float8[]) v (agent, status, at, ms)`,
    [
      accountId,
      traces.map(({ agent }) => agent),
      traces.map(({ status }) => status),
      traces.map(({ at }) => at),
      traces.map(({ ms }) => ms),
    ],
  );
}

async function viewer() {
  test.setNow(now);
  const accountId = await test.makeAccount();
  return test.signIn(accountId, "member");
}

const made = fc.record({
  agent: fc.constantFrom("a", "b/c", "ö 100%"),
  status: fc.constantFrom("success", "error", "timeout", "running"),
  at: fc.integer({ min: 0, max: 70 * 24 * 60 }).map((minutes) => new Date(now.getTime() - minutes * 60_000)),
  ms: fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: null }),
});

const isFailure = ({ status }: Made) => status === "error" || status === "timeout";
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

/** The value below which the share lies, as `percentile_disc` takes it. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

describe("GET /agents and GET /agent-durations", () => {
  it("equal a plain computation for random traces", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(made, { minLength: 1, maxLength: 60 }), async (traces) => {
        const { accountId, get } = await viewer();
        await store(accountId, traces);
        const list: AgentList = (await get("/agents").expect(200)).body;
        expect([list.from, list.to]).toEqual(["2026-06-01", "2026-07-01"]);
        const inRange = traces.filter(({ at }) => dayOf(at) >= "2026-05-02");
        expect(list.agents.map(({ id }) => id).sort()).toEqual([...new Set(inRange.map(({ agent }) => agent))].sort());
        for (const agent of list.agents) {
          const own = inRange.filter((each) => each.agent === agent.id);
          const recent = own.filter(({ at }) => dayOf(at) >= "2026-06-01");
          const before = own.filter(({ at }) => dayOf(at) < "2026-06-01");
          expect(agent.traces).toBe(recent.length);
          expect(agent.failures).toBe(recent.filter(isFailure).length);
          expect(agent.before).toEqual({ traces: before.length, failures: before.filter(isFailure).length });
          expect(Date.parse(agent.last_started_at)).toBe(Math.max(...own.map(({ at }) => at.getTime())));
          for (const { day, traces: count, failures } of agent.days) {
            const ofDay = recent.filter(({ at }) => dayOf(at) === day);
            expect([count, failures]).toEqual([ofDay.length, ofDay.filter(isFailure).length]);
          }
          expect(agent.days.reduce((sum, { traces: count }) => sum + count, 0)).toBe(recent.length);
        }
        const order = list.agents.map(({ failures }) => failures);
        expect(order).toEqual([...order].sort((a, b) => b - a));
        const durations: DurationList = (await get("/agent-durations").expect(200)).body;
        for (const { id, p50_ms, p95_ms } of durations.agents) {
          const sorted = traces
            .filter(({ agent, at, ms }) => agent === id && dayOf(at) >= "2026-06-01" && ms !== null)
            .map(({ ms }) => ms ?? 0)
            .sort((a, b) => a - b);
          expect([p50_ms, p95_ms]).toEqual([percentile(sorted, 0.5), percentile(sorted, 0.95)]);
        }
      }),
      randomRuns(5),
    );
  });

  it("count nothing of another account", async () => {
    const [own, other] = [await viewer(), await viewer()];
    await store(other.accountId, [{ agent: "a", status: "error", at: now, ms: 5 }]);
    expect((await own.get("/agents").expect(200)).body.agents).toEqual([]);
    expect((await own.get("/agent-durations").expect(200)).body.agents).toEqual([]);
    await own.get("/agents/a").expect(404);
    await test.anonymous().get("/agents").expect(401);
    await test.anonymous().get("/agents/a").expect(401);
  });

  it("keep an answer for 30 seconds, for the account alone", async () => {
    const own = await viewer();
    const count = async () => (await own.get("/agents").expect(200)).body.agents.length;
    expect(await count()).toBe(0);
    await store(own.accountId, [{ agent: "a", status: "success", at: now, ms: 5 }]);
    test.setNow(new Date(now.getTime() + 29_000));
    expect(await count()).toBe(0);
    test.setNow(new Date(now.getTime() + 31_000));
    expect(await count()).toBe(1);
  });
});

describe("GET /agents/:agent_id", () => {
  it("has the agent's days, slowest traces and failures", async () => {
    const own = await viewer();
    const id = "team/ü 50%";
    const traces = Array.from({ length: 25 }, (_, n) => ({
      agent: n % 5 === 4 ? "another" : id,
      status: n % 2 === 0 ? "error" : "success",
      at: new Date(now.getTime() - n * dayMs),
      ms: n * 10,
    }));
    await store(own.accountId, traces);
    const body: AgentDetail = (await own.get(`/agents/${encodeURIComponent(id)}`).expect(200)).body;
    const mine = traces.filter(({ agent }) => agent === id);
    expect(body.agent).toMatchObject({ id, traces: mine.length, failures: mine.filter(isFailure).length });
    const slowest = mine.map(({ ms }) => ms).sort((a, b) => b - a);
    expect(body.slowest.map(({ duration_ms }) => duration_ms)).toEqual(slowest.slice(0, 10));
    expect(body.durations).toMatchObject({ id, p50_ms: percentile([...slowest].reverse(), 0.5) });
    expect(body.dayDurations).toEqual(
      mine.map(({ at, ms }) => ({ day: dayOf(at), p50_ms: ms, p95_ms: ms })).sort((a, b) => (a.day < b.day ? -1 : 1)),
    );
    const failed = mine.filter(isFailure).map(({ at }) => at.getTime());
    expect(body.failures.map(({ started_at }) => Date.parse(started_at))).toEqual(failed.slice(0, 10));
  });

  it("groups the errors by their text without digits", async () => {
    const own = await viewer();
    await store(
      own.accountId,
      Array.from({ length: 5 }, () => ({ agent: "a", status: "error", at: now, ms: 5 })),
    );
    const { rows } = await test.pool.query("SELECT id FROM trace WHERE account_id = $1 ORDER BY id", [own.accountId]);
    const texts = ["Timeout after 30 s", "Timeout after 4500 s", "No such file", "Timeout after 1 s"];
    for (const [n, text] of texts.entries()) {
      await test.pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error) VALUES ($1, $2, $3, 's', 'error', $4, $5)`,
        [own.accountId, rows[n].id, randomUUID(), now, text],
      );
    }
    const body: AgentDetail = (await own.get("/agents/a").expect(200)).body;
    expect(body.groupedFailures).toBe(5);
    expect(body.errors.map(({ text, count }) => [text, count])).toEqual([
      ["Timeout after … s", 3],
      ...[
        ["No such file", 1],
        ["No error text", 1],
      ].sort(
        (x, y) =>
          body.errors.findIndex(({ text }) => text === x[0]) - body.errors.findIndex(({ text }) => text === y[0]),
      ),
    ]);
  });

  it("answers 404 for an unknown agent", async () => {
    const own = await viewer();
    await own.get("/agents/nobody").expect(404);
    await own.get("/agents/%00").expect(404);
  });
});
