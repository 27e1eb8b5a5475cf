import { describe, expect, it } from "@jest/globals";
import { rebuildUsage } from "@waymark/traces";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const gpt = (input: number, output: number, more: Record<string, unknown> = {}) => ({
  "gen_ai.provider.name": "OpenAI",
  "gen_ai.request.model": "gpt-4o",
  "gen_ai.usage.input_tokens": input,
  "gen_ai.usage.output_tokens": output,
  ...more,
});
const unknownModel = { "gen_ai.request.model": "house-model", "gen_ai.usage.input_tokens": 7 };
const nothing = {
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  cost_usd: null,
  models: [],
  unpriced_models: [],
};
const range = "from=2026-06-01T00:00:00Z&to=2026-06-03T00:00:00Z";

describe("tokens and cost", () => {
  const test = useApp();

  const addSpan = async (account: TestAccount, traceId: string, body: Record<string, unknown>): Promise<string> =>
    (await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(body)).expect(201)).body.span_id;
  const usageOf = async (account: TestAccount, traceId: string) =>
    (await account.get(`/api/v1/traces/${traceId}?include=usage`).expect(200)).body.usage;
  const modelsOf = async (account: TestAccount, query = range) =>
    (await account.get(`/api/v1/usage/models?${query}`).expect(200)).body;

  describe("of a trace", () => {
    it("come with include=usage, by model, and name models without a price", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      await addSpan(account, traceId, { attributes: gpt(1_000, 100, { "gen_ai.usage.cache_read.input_tokens": 400 }) });
      await addSpan(account, traceId, { attributes: gpt(10, 1, { "gen_ai.usage.reasoning.output_tokens": 1 }) });
      await addSpan(account, traceId, { attributes: unknownModel });
      expect(await usageOf(account, traceId)).toEqual({
        input_tokens: 1_017,
        output_tokens: 101,
        cached_input_tokens: 400,
        cost_usd: "0.003035",
        models: [
          {
            provider: "openai",
            model: "gpt-4o",
            calls: 2,
            input_tokens: 1_010,
            output_tokens: 101,
            cached_input_tokens: 400,
            reasoning_tokens: 1,
            cost_usd: "0.003035",
          },
          {
            provider: null,
            model: "house-model",
            calls: 1,
            input_tokens: 7,
            output_tokens: 0,
            cached_input_tokens: 0,
            cost_usd: null,
          },
        ],
        unpriced_models: ["house-model"],
      });
    });

    it("are zeros without model calls, and absent without include", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      expect(await usageOf(account, traceId)).toEqual(nothing);
      const both = await account.get(`/api/v1/traces/${traceId}?include=usage,attributes`).expect(200);
      expect(both.body).toMatchObject({ usage: nothing, spans: [] });
      expect((await account.get(`/api/v1/traces/${traceId}`).expect(200)).body).not.toHaveProperty("usage");
    });

    it("come at the end of a large trace, too", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const spans = Array.from({ length: 1_000 }, () => spanBody({ attributes: gpt(1, 1) }));
      await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
      await addSpan(account, traceId, { attributes: gpt(1, 1) });
      const { body } = await account.get(`/api/v1/traces/${traceId}?include=attributes,usage`).expect(200);
      expect(body.spans).toHaveLength(1_001);
      expect(body.usage).toMatchObject({ input_tokens: 1_001, cost_usd: "0.0125125" });
    });

    it("count a span that repeats its model calls' sum once", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const agent = await addSpan(account, traceId, { attributes: gpt(30, 3) });
      const step = await addSpan(account, traceId, { parent_span_id: agent });
      await addSpan(account, traceId, { parent_span_id: step.toUpperCase(), attributes: gpt(10, 1) });
      await addSpan(account, traceId, { parent_span_id: step, attributes: gpt(20, 2) });
      expect(await usageOf(account, traceId)).toMatchObject({ input_tokens: 30, output_tokens: 3 });
    });

    it("take the sender's cost, rounded half up to 12 places, and keep it beside tokens of no known model", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      await addSpan(account, traceId, { attributes: gpt(1_000, 0, { "gen_ai.usage.cost": 0.5 }) });
      await addSpan(account, traceId, { attributes: { ...unknownModel, "gen_ai.usage.cost": "0.0000000000015" } });
      expect(await usageOf(account, traceId)).toMatchObject({ cost_usd: "0.500000000002", unpriced_models: [] });
    });

    it("are 404 for another account, and 400 for an unknown part", async () => {
      const account = await test.makeAccount("free");
      const other = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      await other.get(`/api/v1/traces/${traceId}?include=usage`).expect(404);
      const refused = await account.get(`/api/v1/traces/${traceId}?include=usage,tokens`).expect(400);
      expect(Object.keys(refused.body.fields)).toEqual(["include"]);
    });

    it.each([
      { "gen_ai.usage.input_tokens": -1 },
      { "gen_ai.usage.input_tokens": 1.5 },
      { "gen_ai.usage.cost": "much" },
    ])("are none for %j", async (attributes) => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      await addSpan(account, traceId, { attributes });
      expect(await usageOf(account, traceId)).toEqual(nothing);
    });
  });

  describe("GET /api/v1/usage/models", () => {
    it("sums by model and by day, of the account and agent that asks", async () => {
      const account = await test.makeAccount("pro");
      const other = await test.makeAccount("pro");
      const [first, second, foreign] = [
        await account.makeTrace({ agent_id: "a" }),
        await account.makeTrace({ agent_id: "b" }),
        await other.makeTrace({ agent_id: "a" }),
      ];
      await addSpan(account, first, { attributes: gpt(100, 10) });
      await addSpan(account, second, { attributes: gpt(200, 20), started_at: "2026-06-02T23:59:59.999999Z" });
      await addSpan(account, second, { attributes: gpt(400, 40), started_at: "2026-06-03T00:00:00Z" });
      await addSpan(other, foreign, { attributes: gpt(1, 1) });
      expect(await modelsOf(account)).toEqual({
        from: "2026-06-01T00:00:00.000Z",
        to: "2026-06-03T00:00:00.000Z",
        models: [
          {
            provider: "openai",
            model: "gpt-4o",
            calls: 2,
            input_tokens: 300,
            output_tokens: 30,
            cached_input_tokens: 0,
            cost_usd: "0.00105",
          },
        ],
        series: [
          { day: "2026-06-01", input_tokens: 100, output_tokens: 10, cost_usd: "0.00035" },
          { day: "2026-06-02", input_tokens: 200, output_tokens: 20, cost_usd: "0.0007" },
        ],
      });
      expect((await modelsOf(account, `${range}&agent_id=a`)).models).toMatchObject([{ input_tokens: 100 }]);
      expect(await modelsOf(account, `${range}&agent_id=c`)).toMatchObject({ models: [], series: [] });
    });

    it("reads the last 30 days if nothing is given", async () => {
      const account = await test.makeAccount("pro");
      const traceId = await account.makeTrace();
      test.setNow(new Date("2026-06-30T12:00:00Z"));
      await addSpan(account, traceId, { attributes: gpt(100, 10) });
      expect(await modelsOf(account, "")).toMatchObject({
        from: "2026-05-31T00:00:00.000Z",
        to: "2026-07-01T00:00:00.000Z",
        models: [{ input_tokens: 100 }],
      });
    });

    it.each([
      ["from=yesterday", "from"],
      ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to"],
      ["agent_id=", "agent_id"],
      ["interval=day", "interval"],
    ])("answers 400 for ?%s", async (query, field) => {
      const account = await test.makeAccount("pro");
      const { body } = await account.get(`/api/v1/usage/models?${query}`).expect(400);
      expect(Object.keys(body.fields)).toEqual([field]);
    });
  });

  it("are members of an agent's series and figures", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace({ agent_id: "a" });
    const other = await account.makeTrace({ agent_id: "b" });
    await addSpan(account, traceId, { attributes: gpt(100, 10), started_at: "2026-06-01T12:10:00Z" });
    await addSpan(account, traceId, { attributes: gpt(200, 20), started_at: "2026-06-01T13:59:59Z" });
    await addSpan(account, other, { attributes: unknownModel });
    const range = "from=2026-06-01T12:00:00Z&to=2026-06-01T15:00:00Z";
    const seriesOf = async (agent: string, interval: string) => {
      const path = `/api/v1/agents/${agent}/series?${range}&interval=${interval}`;
      const { body } = await account.get(path).expect(200);
      return body.series.map((entry: Record<string, unknown>) => [
        entry["input_tokens"],
        entry["output_tokens"],
        entry["cost_usd"],
      ]);
    };
    expect(await seriesOf("a", "hour")).toEqual([
      [100, 10, "0.00035"],
      [200, 20, "0.0007"],
      [0, 0, null],
    ]);
    expect(await seriesOf("a", "day")).toEqual([[300, 30, "0.00105"]]);
    expect(await seriesOf("b", "day")).toEqual([[7, 0, null]]);
    const { body } = await account.get(`/api/v1/agents?include=figures&${range}`).expect(200);
    expect(body.agents).toMatchObject([
      { id: "a", input_tokens: 300, output_tokens: 30, cost_usd: "0.00105" },
      { id: "b", input_tokens: 7, output_tokens: 0, cost_usd: null },
    ]);
  });

  it("stay in the sums when their trace is deleted", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    await addSpan(account, traceId, { attributes: gpt(100, 10) });
    await account.delete(`/api/v1/traces/${traceId}`).expect(200);
    expect((await modelsOf(account)).models).toMatchObject([{ calls: 1, input_tokens: 100, cost_usd: "0.00035" }]);
  });

  it("are compared and mended by a rebuild", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    await addSpan(account, traceId, { attributes: gpt(100, 10) });
    const now = new Date("2026-06-03T00:00:00Z");
    await test.pool.query("SELECT 1");
    const before = await modelsOf(account);
    await test.pool.query("UPDATE model_day SET input_tokens = 99, calls = 3 WHERE account_id = $1", [account.id]);
    const check = await rebuildUsage(test.pool, account.id, { isCheck: true, now });
    expect(check).toMatchObject({ calls: 0, sums: [{ day: "2026-06-01", stored_calls: 3, counted_calls: 1 }] });
    expect((await modelsOf(account)).models).toMatchObject([{ calls: 3 }]);
    await rebuildUsage(test.pool, account.id, { isCheck: false, now });
    expect(await modelsOf(account)).toEqual(before);
    expect(await rebuildUsage(test.pool, account.id, { isCheck: true, now })).toEqual({ calls: 0, sums: [] });
  });

  describe("GET /api/v1/traces?min_cost=", () => {
    it("lists traces that cost at least so much", async () => {
      const account = await test.makeAccount("pro");
      const [cheap, dear, unpriced] = [await account.makeTrace(), await account.makeTrace(), await account.makeTrace()];
      await addSpan(account, cheap, { attributes: gpt(100, 0) });
      await addSpan(account, dear, { attributes: gpt(100_000, 0) });
      await addSpan(account, dear, { attributes: gpt(100_000, 0) });
      await addSpan(account, unpriced, { attributes: unknownModel });
      const list = async (minCost: string) => {
        const { body } = await account.get(`/api/v1/traces?min_cost=${minCost}`).expect(200);
        return body.traces.map(({ id }: { id: string }) => id).sort();
      };
      expect(await list("0")).toEqual([cheap, dear].sort());
      expect(await list("0.00025")).toEqual([cheap, dear].sort());
      expect(await list("0.000250000001")).toEqual([dear]);
      expect(await list("0.5")).toEqual([dear]);
      expect(await list("0.500000000001")).toEqual([]);
    });

    it.each(["-1", "a", "", "1e3", "1.0000000000001", ".5"])("answers 400 for %j", async (minCost) => {
      const account = await test.makeAccount("pro");
      const { body } = await account.get(`/api/v1/traces?min_cost=${minCost}`).expect(400);
      expect(Object.keys(body.fields)).toEqual(["min_cost"]);
    });
  });
});
