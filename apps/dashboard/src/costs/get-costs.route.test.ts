import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import type { Costs } from "./costs.route.js";
import { insertModelDay } from "./model-days.fixture.js";

const { pool, makeAccount, signIn } = useDashboard();

const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

describe("GET /costs", () => {
  it("200: sums by model, by agent and by day, of the account and the range", async () => {
    const accountId = await makeAccount();
    await insertModelDay(pool, accountId, { ago: 3, calls: 2, input: 10, output: 1, cost: "0.1" });
    await insertModelDay(pool, accountId, { ago: 1, agent: "a/b", input: 5, output: 5, cost: "0.25" });
    await insertModelDay(pool, accountId, { ago: 1, model: "house", provider: "", input: 7, output: 0, cost: null });
    await insertModelDay(pool, accountId, { ago: 60 });
    await insertModelDay(pool, await makeAccount());
    const member = await signIn(accountId, "member");
    const { body }: { body: Costs } = await member.get("/costs").expect(200);
    const sums = (calls: number, input_tokens: number, output_tokens: number, cost_usd: string | null) => ({
      calls,
      input_tokens,
      output_tokens,
      cached_input_tokens: 0,
      cost_usd,
    });
    expect(body).toEqual({
      from: dayAgo(30),
      to: dayAgo(-1),
      total: sums(4, 22, 6, "0.35"),
      models: [
        { provider: "openai", model: "gpt-4o", ...sums(3, 15, 6, "0.35") },
        { provider: null, model: "house", ...sums(1, 7, 0, null) },
      ],
      agents: [
        { agent_id: "a/b", ...sums(1, 5, 5, "0.25") },
        { agent_id: "writer", ...sums(3, 17, 1, "0.1") },
      ],
      series: [
        { day: dayAgo(3), ...sums(2, 10, 1, "0.1") },
        { day: dayAgo(1), ...sums(2, 12, 5, "0.25") },
      ],
    });
    const narrowed = await member.get(`/costs?from=${dayAgo(2)}T00:00:00Z&agent_id=writer`).expect(200);
    expect(narrowed.body).toMatchObject({ from: dayAgo(2), total: sums(1, 7, 0, null) });
  });

  it("200: is empty without calls", async () => {
    const { body } = await (await signIn(await makeAccount("free"))).get("/costs").expect(200);
    expect(body).toMatchObject({ total: { calls: 0, cost_usd: null }, models: [], agents: [], series: [] });
  });

  it("400: names a wrong parameter", async () => {
    const answer = await (await signIn(await makeAccount())).get("/costs?from=yesterday").expect(400);
    expect(Object.keys(answer.body.fields)).toEqual(["from"]);
  });
});
