import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import { useTraceApi } from "../traces/trace-api.fixture.js";
import type { AgentDetail, AgentList, AgentScores, DurationList } from "./agents.route.js";

const test = useDashboard();
const api = useTraceApi(test);
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

async function viewer(role: "owner" | "member" = "member") {
  test.setNow(now);
  const accountId = await test.makeAccount();
  return test.signIn(accountId, role);
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
          const ended = (some: readonly Made[]) => some.filter(({ status }) => status !== "running").length;
          expect(agent.ended).toBe(ended(recent));
          expect(agent.before).toEqual({
            traces: before.length,
            ended: ended(before),
            failures: before.filter(isFailure).length,
          });
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
            .filter(({ agent, status }) => agent === id && status !== "running")
            .filter(({ at, ms }) => dayOf(at) >= "2026-06-01" && ms !== null)
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
  const id = "team/ü 50%";
  const path = `/agents/${encodeURIComponent(id)}`;
  const label = (...texts: string[]) => fc.constantFrom(null, ...texts);
  const sent = fc.record({
    agent: fc.constantFrom(id, id, "another"),
    status: fc.constantFrom("success", "error", "timeout", "running"),
    minutesAgo: fc.integer({ min: 1, max: 32 * 24 * 60 }),
    ms: fc.integer({ min: 0, max: 100_000 }),
    environment: label("production", "開発"),
    release: label("v1", "v2"),
    tokens: fc.array(fc.integer({ min: 1, max: 9_000 }), { maxLength: 2 }),
    model: fc.constantFrom("gpt-4o", "house-model"),
    isDeleted: fc.constantFrom(false, false, true),
  });

  type Sent = typeof sent extends fc.Arbitrary<infer Trace> ? Trace : never;

  const fixed: Sent = {
    agent: id,
    status: "success",
    minutesAgo: 5,
    ms: 7,
    environment: "production",
    release: "v1",
    tokens: [10],
    model: "gpt-4o",
    isDeleted: false,
  };

  async function send(accountId: string, traces: readonly Sent[]) {
    const client = await api.client(accountId);
    const ids: string[] = [];
    for (const { agent, minutesAgo, ms, tokens, model, isDeleted: _, ...trace } of traces) {
      const started = now.getTime() - minutesAgo * 60_000;
      const [started_at, ended_at] = [new Date(started).toISOString(), new Date(started + ms).toISOString()];
      const times = trace.status === "running" ? { started_at } : { started_at, ended_at };
      const { body } = await client
        .post("/api/v1/traces", { agent_id: agent, name: "n", ...trace, ...times })
        .expect(201);
      for (const input of tokens) {
        const attributes = { "gen_ai.request.model": model, "gen_ai.usage.input_tokens": input };
        const span = { name: "chat", status: "ok", started_at, ended_at, attributes };
        await client.post(`/api/v1/traces/${body.trace_id}/spans`, span).expect(201);
      }
      ids.push(body.trace_id);
    }
    return { client, ids };
  }

  it("equals the API's series, agents and usage for random traces, of which some are deleted", async () => {
    api.setNow(now);
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 25 }), async (traces) => {
        const own = await viewer("owner");
        const { client, ids } = await send(own.accountId, [fixed, ...traces]);
        for (const [n, { isDeleted }] of traces.entries())
          if (isDeleted) await own.delete(`/traces/${ids[n + 1]}`).expect(200);
        const read = async (url: string) => (await client.get(url).expect(200)).body;
        for (const { query, from } of [
          { query: "", from: "2026-06-01T00:00:00Z" },
          { query: "&interval=hour", from: "2026-06-29T00:00:00Z" },
          { query: "&environment=production", from: "2026-06-01T00:00:00Z" },
          { query: "&release=v1&environment=production", from: "2026-05-20T00:00:00Z" },
        ]) {
          const asked = `?from=${from}${query}`;
          const body: AgentDetail = (await own.get(path + asked).expect(200)).body;
          const series = await read(`/api/v1${path}/series${asked}`);
          expect(body.series).toEqual(series.series);
          const labels = query.replace("&interval=hour", "");
          const { agents } = await read(`/api/v1/agents?include=figures&from=${from}${labels}`);
          const {
            traces: counts,
            last_started_at: _,
            created_at: __,
            id: ___,
            ...figures
          } = agents.find((agent: { id: string }) => agent.id === id);
          const none = { failure_rate: null, p50_ms: null, p90_ms: null, p95_ms: null, p99_ms: null };
          const noTokens = { input_tokens: 0, output_tokens: 0, cost_usd: null };
          expect({ ...none, ...noTokens, ...body.figures, ...body.tokens }).toEqual(figures);
          for (const [name, { rows }] of [
            ["release", body.releases],
            ["environment", body.environments],
          ] as const) {
            const sum = (of: "traces" | "failures") => rows.reduce((all, row) => all + row[of], 0);
            const { running, success, error, timeout } = counts;
            expect([sum("traces"), sum("failures")]).toEqual([running + success + error + timeout, error + timeout]);
            if (labels !== "") continue;
            const by = await read(`/api/v1/usage/by?dimension=${name}&from=${from}&agent_id=${encodeURIComponent(id)}`);
            const plain = rows.map(({ failure_rate, p50_ms, p90_ms, p95_ms, p99_ms, ...row }) => row);
            const byValue = (one: { value: string | null }, two: { value: string | null }) =>
              String(one.value).localeCompare(String(two.value));
            expect(plain.sort(byValue)).toEqual(by.rows.sort(byValue));
            const first = Date.parse(from);
            for (const row of rows) {
              const durations = [fixed, ...traces]
                .filter((each) => each.agent === id && !each.isDeleted && each.status !== "running")
                .filter((each) => each[name] === row.value && now.getTime() - each.minutesAgo * 60_000 >= first)
                .map(({ ms }) => ms)
                .sort((one, two) => one - two);
              expect([row.p50_ms ?? undefined, row.p95_ms ?? undefined]).toEqual([
                percentile(durations, 0.5),
                percentile(durations, 0.95),
              ]);
            }
          }
        }
      }),
      randomRuns(3),
    );
  });

  it("begins 29 days before today without a range, and has the ten slowest traces", async () => {
    const own = await viewer();
    await test.pool.query("INSERT INTO agent (account_id, id) VALUES ($1, $2)", [own.accountId, id]);
    const made = Array.from({ length: 40 }, (_, n) => {
      return { agent: id, status: "success", at: new Date(now.getTime() - n * dayMs - 1_000), ms: n * 10 };
    });
    await store(own.accountId, made);
    const body: AgentDetail = (await own.get(path).expect(200)).body;
    expect([body.from, body.series.length, body.series.at(-1)?.traces]).toEqual(["2026-06-01T00:00:00.000Z", 30, 1]);
    expect(body.slowest.map(({ duration_ms: ms }) => ms)).toEqual([290, 280, 270, 260, 250, 240, 230, 220, 210, 200]);
    const filtered: AgentDetail = (await own.get(`${path}?environment=nowhere`).expect(200)).body;
    expect([filtered.slowest, filtered.figures, filtered.releases.rows]).toEqual([[], undefined, []]);
  });

  it("keeps the 100 releases with most traces, and says how many there are", async () => {
    const own = await viewer();
    await send(own.accountId, [fixed]);
    await test.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, release)
       SELECT $1, gen_random_uuid(), $2, 'n', 'running', $3, 'r' || n FROM generate_series(1, 99) n`,
      [own.accountId, id, new Date(now.getTime() - 1_000)],
    );
    const read = async (): Promise<AgentDetail> => (await own.get(path).expect(200)).body;
    expect((await read()).releases).toMatchObject({ count: 100, rows: { length: 100 } });
    await test.pool.query("UPDATE trace SET release = 'r100' WHERE account_id = $1 AND release = 'r1'", [
      own.accountId,
    ]);
    await send(own.accountId, [
      { ...fixed, release: "r100" },
      { ...fixed, release: "more" },
    ]);
    test.setNow(new Date(now.getTime() + 31_000));
    const { count, rows } = (await read()).releases;
    expect([count, rows.length, rows[0]?.value, rows[0]?.traces]).toEqual([101, 100, "r100", 2]);
  });

  it("sums up scores with their sources, and has the notes of the latest traces", async () => {
    const own = await viewer();
    const { ids } = await send(own.accountId, [
      { ...fixed, minutesAgo: 9 },
      { ...fixed, environment: "開発" },
    ]);
    const client = await api.client(own.accountId);
    const [early = "", late = ""] = ids;
    await client
      .post(`/api/v1/traces/${early}/scores`, { name: "helpful", value: false, comment: "At first" })
      .expect(201);
    await own.post(`/traces/${late}/scores`, { name: "helpful", value: true, comment: "請求" }).expect(201);
    await own.post(`/traces/${late}/scores`, { name: "helpful", value: true }).expect(201);
    const body: AgentScores = (await own.get(`${path}/scores`).expect(200)).body;
    expect(body.scores).toMatchObject([{ name: "helpful", count: 3, given_by_hand: 2 }]);
    expect(body.scores).toEqual((await client.get(`/api/v1${path}/scores`).expect(200)).body.scores);
    expect(body.notes.map(({ comment, trace_id, source }) => [comment, trace_id, source])).toEqual([
      ["請求", late, "person"],
      ["At first", early, "api"],
    ]);
    const filtered: AgentScores = (await own.get(`${path}/scores?environment=production`).expect(200)).body;
    expect([filtered.scores[0]?.count, filtered.notes.length]).toEqual([1, 1]);
    const other = await viewer();
    await send(other.accountId, [fixed]);
    expect((await other.get(`${path}/scores`).expect(200)).body).toEqual({ scores: [], notes: [] });
    expect((await other.get(path).expect(200)).body.tokens.input_tokens).toBe(10);
  });

  it("answers 404 for an unknown agent, and 400 with the name of a wrong parameter", async () => {
    const own = await viewer();
    await own.get("/agents/nobody").expect(404);
    await own.get("/agents/%00").expect(404);
    await send(own.accountId, [fixed]);
    await (await viewer()).get(path).expect(404);
    for (const [query, field] of [
      ["from=yesterday", "from"],
      ["interval=minute", "interval"],
      ["from=2026-01-01T00:00:00Z&interval=hour", "from"],
      [`environment=${"a".repeat(201)}`, "environment"],
    ]) {
      const { body } = await own.get(`${path}?${query}`).expect(400);
      expect(Object.keys(body.fields)).toEqual([field]);
    }
  });
});
