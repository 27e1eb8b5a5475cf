import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { maxScoresPerTrace } from "@waymark/traces";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const test = useApp();
const june = { from: "2026-06-01T00:00:00Z", to: "2026-07-01T00:00:00Z" };

async function addScore(account: TestAccount, traceId: string, body: Record<string, unknown>): Promise<string> {
  const answer = await account.post(`/api/v1/traces/${traceId}/scores`, body).expect(201);
  expect(Object.keys(answer.body)).toEqual(["score_id"]);
  return answer.body.score_id;
}

async function addSpan(account: TestAccount, traceId: string): Promise<string> {
  return (await account.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(201)).body.span_id;
}

/** Waits until so many statements of the app wait for locks. */
async function untilWaiting(count: number): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'test'`;
  for (const until = Date.now() + 120_000; Date.now() < until; await pause(5)) {
    if (((await test.pool.query(sql)).rowCount ?? 0) >= count) return;
  }
  throw new Error("The statements did not come to wait");
}

async function scoresOf(account: TestAccount, traceId: string) {
  return (await account.get(`/api/v1/traces/${traceId}?include=scores`).expect(200)).body.scores;
}

describe("POST scores", () => {
  describe("201", () => {
    it("stores numbers, booleans and texts of a trace and its spans, read back with include=scores", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spanId = await addSpan(account, traceId);
      const ids = [
        await addScore(account, traceId, { name: "helpful", value: 0.25, comment: "so \u0001 so" }),
        await addScore(account, traceId, { name: "helpful", value: false }),
      ];
      const path = `/api/v1/traces/${traceId.toUpperCase()}/spans/${spanId.toUpperCase()}/scores`;
      ids.push((await account.post(path, { name: "topic", value: "refund", comment: null }).expect(201)).body.score_id);
      const common = { comment: null, source: "api", created_at: expect.stringMatching(/^20.*Z$/) };
      expect(await scoresOf(account, traceId)).toEqual([
        { ...common, id: ids[0], span_id: null, name: "helpful", value: 0.25, comment: "so \u0001 so" },
        { ...common, id: ids[1], span_id: null, name: "helpful", value: false },
        { ...common, id: ids[2], span_id: spanId, name: "topic", value: "refund" },
      ]);
      const plain = await account.get(`/api/v1/traces/${traceId}`).expect(200);
      expect(plain.body).not.toHaveProperty("scores");
      const both = await account.get(`/api/v1/traces/${traceId}?include=attributes,scores`).expect(200);
      expect(both.body.scores).toHaveLength(3);
      expect(both.body.spans[0]).toHaveProperty("attributes");
    });

    it("adds scores to a large trace, which comes in chunks", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const span = spanBody({ input: "x".repeat(200_000) });
      for (let n = 0; n < 3; n++) await account.post(`/api/v1/traces/${traceId}/spans`, span).expect(201);
      const id = await addScore(account, traceId, { name: "helpful", value: 1 });
      const { body } = await account.get(`/api/v1/traces/${traceId}?include=scores`).expect(200);
      expect(body.spans).toHaveLength(3);
      expect(body.scores).toMatchObject([{ id }]);
    });

    it("stores once for an Idempotency-Key", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const path = `/api/v1/traces/${traceId}/scores`;
      const send = (value: number) => account.post(path, { name: "helpful", value }).set("Idempotency-Key", "k1");
      const first = await send(1).expect(201);
      const again = await send(1).expect(201);
      expect(again.body).toEqual(first.body);
      expect(again.headers["idempotent-replayed"]).toBe("true");
      await send(2).expect(422);
      expect(await scoresOf(account, traceId)).toHaveLength(1);
      await account
        .post("/api/v1/traces/none/scores", { name: "n", value: 1 })
        .set("Idempotency-Key", "k2")
        .expect(404);
      await account.post(path, { name: "n", value: 1 }).set("Idempotency-Key", "k2").expect(201);
    });
  });

  it.each([
    [{ value: 1 }, "name"],
    [{ name: "", value: 1 }, "name"],
    [{ name: "n".repeat(101), value: 1 }, "name"],
    [{ name: "a\u0000", value: 1 }, "name"],
    [{ name: "n" }, "value"],
    [{ name: "n", value: null }, "value"],
    [{ name: "n", value: "" }, "value"],
    [{ name: "n", value: "v".repeat(1_001) }, "value"],
    [{ name: "n", value: "a\u0000" }, "value"],
    [{ name: "n", value: [1] }, "value"],
    [{ name: "n", value: 1e15 + 1 }, "value"],
    [{ name: "n", value: -1e200 }, "value"],
    [{ name: "n", value: 1, comment: "c".repeat(4_001) }, "comment"],
    [{ name: "n", value: 1, comment: 1 }, "comment"],
  ])("answers 400 for a wrong field (%#)", async (body, field) => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const answer = await account.post(`/api/v1/traces/${traceId}/scores`, body).expect(400);
    expect(Object.keys(answer.body.fields)).toEqual([field]);
  });

  it("answers 404 for another account's trace and span, and unknown ones", async () => {
    const [account, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    const [own, theirs] = [await account.makeTrace(), await other.makeTrace()];
    const theirSpan = await addSpan(other, theirs);
    const body = { name: "helpful", value: 1 };
    const post = (path: string) => account.post(`/api/v1/traces/${path}/scores`, body).expect(404);
    for (const path of [theirs, "none", `${theirs}/spans/${theirSpan}`, `none/spans/${theirSpan}`])
      expect((await post(path)).body).toEqual({ error: "Trace not found" });
    for (const path of [`${own}/spans/${theirSpan}`, `${own}/spans/none`])
      expect((await post(path)).body).toEqual({ error: "Span not found" });
    expect(await scoresOf(other, theirs)).toEqual([]);
  });

  it("answers 409 for the score after the hundredth", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    await test.pool.query(
      `INSERT INTO score (account_id, trace_id, id, name, kind, number)
       SELECT $1, $2, gen_random_uuid(), 'n', 'number', 1 FROM generate_series(2, $3::int)`,
      [account.id, traceId, maxScoresPerTrace],
    );
    await addScore(account, traceId, { name: "helpful", value: 1 });
    const { body } = await account.post(`/api/v1/traces/${traceId}/scores`, { name: "n", value: 1 }).expect(409);
    expect(body).toEqual({ error: "The trace has no room for another score", limit: 100 });
  });

  it("are exactly a hundred at most, through several instances at once", async () => {
    const account = await test.makeAccount("free");
    const instances = [account, (await test.startInstance())(account), (await test.startInstance())(account)];
    const traceId = await account.makeTrace();
    await test.pool.query(
      `INSERT INTO score (account_id, trace_id, id, name, kind, number)
       SELECT $1, $2, gen_random_uuid(), 'n', 'number', 1 FROM generate_series(2, $3::int)`,
      [account.id, traceId, maxScoresPerTrace],
    );
    // Each has counted and waits for its key before any commits.
    const keys = await test.hold(
      "INSERT INTO idempotency_key (account_id, key, request_hash, ids) SELECT $1, 'key ' || n, decode(repeat('00', 32), 'hex'), '{}' FROM generate_series(0, 2) n",
      [account.id],
    );
    const adding = instances.map(async (instance, n) => {
      const post = instance.post(`/api/v1/traces/${traceId}/scores`, { name: "n", value: 1 });
      return (await post.set("Idempotency-Key", `key ${n}`)).status;
    });
    await untilWaiting(3);
    await keys.rollback();
    expect((await Promise.all(adding)).sort()).toEqual([201, 409, 409]);
    expect(await scoresOf(account, traceId)).toHaveLength(maxScoresPerTrace);
  });

  it("are removed with their trace", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    await addScore(account, traceId, { name: "helpful", value: 1 });
    await account.delete(`/api/v1/traces/${traceId}`).expect(200);
    expect((await test.pool.query("SELECT FROM score WHERE trace_id = $1", [traceId])).rowCount).toBe(0);
  });
});

describe("GET /api/v1/traces with a score", () => {
  async function found(account: TestAccount, query: Record<string, string | number>): Promise<string[]> {
    const { body } = await account.get("/api/v1/traces").query(query).expect(200);
    return body.traces.map(({ name }: { name: string }) => name).sort();
  }

  it("finds traces by the score's name and bounds", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    for (const [name, value] of [
      ["low", 0.2],
      ["high", 0.9],
      ["yes", true],
      ["no", false],
      ["text", "fine"],
    ] as const)
      await addScore(account, await account.makeTrace({ name }), { name: "helpful", value });
    await addScore(account, await account.makeTrace({ name: "another" }), { name: "accuracy", value: 0.9 });
    await account.makeTrace({ name: "none" });
    await addScore(other, await other.makeTrace({ name: "theirs" }), { name: "helpful", value: 0.9 });
    expect(await found(account, { score: "helpful" })).toEqual(["high", "low", "no", "text", "yes"]);
    expect(await found(account, { score: "helpful", min_score: 0.5 })).toEqual(["high", "yes"]);
    expect(await found(account, { score: "helpful", max_score: 0.2 })).toEqual(["low", "no"]);
    expect(await found(account, { score: "helpful", min_score: 0.1, max_score: 0.95, status: "running" })).toEqual([
      "high",
      "low",
    ]);
  });

  it.each([
    ["min_score=1", "min_score"],
    ["score=a&max_score=x", "max_score"],
    ["score=", "score"],
  ])("answers 400 for %s", async (query, field) => {
    const account = await test.makeAccount("free");
    const { body } = await account.get(`/api/v1/traces?${query}`).expect(400);
    expect(Object.keys(body.fields)).toEqual([field]);
  });
});

describe("GET /api/v1/agents/:agent_id/scores", () => {
  const read = async (account: TestAccount, agent = "agent") =>
    (await account.get(`/api/v1/agents/${agent}/scores`).query(june).expect(200)).body;

  it("agrees with a recount", async () => {
    const score = fc.record({
      agent: fc.constantFrom("a", "b"),
      name: fc.constantFrom("helpful", "topic"),
      value: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.boolean(), fc.constantFrom("x", "y")),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(score, { maxLength: 15 }), async (scores) => {
        const account = await test.makeAccount("pro");
        const traces = { a: await account.makeTrace({ agent_id: "a" }), b: await account.makeTrace({ agent_id: "b" }) };
        for (const { agent, name, value } of scores)
          await addScore(account, traces[agent as "a" | "b"], { name, value });
        const own = scores.filter(({ agent }) => agent === "a");
        const expected = ["helpful", "topic"].flatMap((name) =>
          ["boolean", "number", "string"].flatMap((kind) => {
            const values = own
              .filter((each) => each.name === name && typeof each.value === kind)
              .map(({ value }) => value);
            if (values.length === 0) return [];
            const mean = values.reduce<number>((sum, value) => sum + Number(value), 0) / values.length;
            const distinct = [...new Set(values)].map((value) => ({
              value,
              count: values.filter((v) => v === value).length,
            }));
            const sorted = distinct.sort((a, b) => b.count - a.count || (a.value === true || a.value === "x" ? -1 : 1));
            return [
              {
                name,
                count: values.length,
                given_by_hand: 0,
                ...(kind !== "string" && { mean: expect.closeTo(mean, 9) }),
                ...(kind !== "number" && { values: sorted }),
              },
            ];
          }),
        );
        expect(await read(account, "a")).toEqual({ scores: expected });
      }),
      randomRuns(8),
    );
  });

  it("is the mean of stored numbers of any size", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    await test.pool.query(
      `INSERT INTO score (account_id, trace_id, id, name, kind, number)
       SELECT $1, $2, gen_random_uuid(), name, 'number', number
       FROM (VALUES ('large', 1e200::float8), ('large', 0), ('largest', 1.7e308), ('largest', 1.7e308), ('small', 1e-300)) AS s (name, number)`,
      [account.id, traceId],
    );
    expect(await read(account)).toEqual({
      scores: [
        { name: "large", count: 2, given_by_hand: 0, mean: 5e199 },
        { name: "largest", count: 2, given_by_hand: 0, mean: 1.7e308 },
        { name: "small", count: 1, given_by_hand: 0, mean: 1e-300 },
      ],
    });
  });

  it("counts traces of the range alone, and none of another account", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    await addScore(account, await account.makeTrace({ started_at: june.to }), { name: "helpful", value: 1 });
    await addScore(other, await other.makeTrace(), { name: "helpful", value: 1 });
    expect(await read(account)).toEqual({ scores: [] });
    await other.makeTrace({ agent_id: "theirs" });
    await account.get("/api/v1/agents/theirs/scores").expect(404);
    await account.get("/api/v1/agents/agent/scores?interval=day").expect(400);
  });
});
