import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import type { Costs, DearestTraces } from "./costs.route.js";
import { insertModelDay } from "./model-days.fixture.js";

const { pool, makeAccount, signIn, setNow } = useDashboard();

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
      modelDays: [
        {
          provider: "openai",
          model: "gpt-4o",
          days: [
            { day: dayAgo(3), ...sums(2, 10, 1, "0.1") },
            { day: dayAgo(1), ...sums(1, 5, 5, "0.25") },
          ],
        },
        { provider: null, model: "house", days: [{ day: dayAgo(1), ...sums(1, 7, 0, null) }] },
      ],
      before: {
        from: dayAgo(60),
        to: dayAgo(30),
        total: sums(1, 1_000, 100, "0.0035"),
        series: [{ day: dayAgo(60), ...sums(1, 1_000, 100, "0.0035") }],
      },
    });
    const finished = await member.get(`/costs?from=${dayAgo(5)}T00:00:00Z&to=${dayAgo(3)}T00:00:00Z`).expect(200);
    expect(finished.body.before).toMatchObject({ from: dayAgo(7), to: dayAgo(5), total: { calls: 0 } });
    expect((await member.get(`/costs?from=${dayAgo(0)}T00:00:00Z`).expect(200)).body.before).toBeNull();
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

describe("GET /costs/traces", () => {
  const now = new Date("2026-06-30T15:00:00Z");
  const call = fc.record({
    trace: fc.integer({ min: 0, max: 24 }),
    ago: fc.integer({ min: 0, max: 40 }),
    cents: fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: null }),
  });

  it("200: equals a plain computation for random calls, those of deleted traces in the mean alone", async () => {
    setNow(now);
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 80 }), async (calls) => {
        const accountId = await makeAccount();
        const owner = await signIn(accountId);
        const ids: string[] = [];
        for (let n = 0; n < 25; n++)
          ids.push(await insertTrace(pool, accountId, { name: `t${n}`, agent: n % 2 ? "a" : "b" }));
        const agentOf = (n: number) => (n % 2 ? "a" : "b");
        const days = calls.map(({ ago }) => new Date(now.getTime() - ago * 86_400_000).toISOString());
        await pool.query(
          `INSERT INTO model_call (account_id, trace_id, span_id, agent_id, started_at, input_tokens, output_tokens, cost, settle_at)
           SELECT $1, trace, gen_random_uuid(), agent, at, 3, 1, cents / 100.0, NULL
           FROM unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::numeric[]) v (trace, agent, at, cents)`,
          [
            ...[accountId, calls.map(({ trace }) => ids[trace]), calls.map(({ trace }) => agentOf(trace)), days],
            calls.map(({ cents }) => cents),
          ],
        );
        await pool.query("UPDATE model_call SET counts = true WHERE account_id = $1", [accountId]);
        await pool.query(
          `INSERT INTO model_day (account_id, day, agent_id, provider, model, calls, priced_calls, input_tokens, output_tokens,
             cached_input_tokens, cache_write_tokens, reasoning_tokens, cost)
           SELECT account_id, started_at::date, agent_id, '', '', count(*), count(cost), 0, 0, 0, 0, 0, COALESCE(sum(cost), 0)
           FROM model_call WHERE account_id = $1 GROUP BY 1, 2, 3`,
          [accountId],
        );
        await owner.delete(`/traces/${ids[0]}`);
        for (const agent of [undefined, "a"]) {
          const counted = calls.filter(({ ago, trace }) => ago < 31 && (!agent || agentOf(trace) === agent));
          const cents = new Map<number, number>();
          for (const { trace, cents: own } of counted)
            if (own !== null) cents.set(trace, (cents.get(trace) ?? 0) + own);
          const path = `/costs/traces${agent ? `?agent_id=${agent}` : ""}`;
          const body: DearestTraces = (await owner.get(path).expect(200)).body;
          expect(body.priced).toBe(cents.size);
          const sum = [...cents.values()].reduce((all, each) => all + each, 0);
          expect(Number(body.mean_cost_usd)).toBeCloseTo(cents.size === 0 ? 0 : sum / cents.size / 100, 6);
          const dearest = [...cents].filter(([trace]) => trace !== 0).sort((a, b) => b[1] - a[1]);
          expect(body.traces.map(({ cost_usd }) => Math.round(Number(cost_usd) * 100))).toEqual(
            dearest.slice(0, 10).map(([, own]) => own),
          );
          for (const { id, name, cost_usd, input_tokens } of body.traces) {
            const n = ids.indexOf(id);
            expect([name, Math.round(Number(cost_usd) * 100)]).toEqual([`t${n}`, cents.get(n)]);
            expect(input_tokens).toBe(3 * counted.filter(({ trace }) => trace === n).length);
          }
        }
      }),
      randomRuns(5),
    );
  });

  it("200: has nothing of another account", async () => {
    setNow(new Date());
    const [own, other] = [await makeAccount(), await makeAccount()];
    const trace = await insertTrace(pool, other);
    await pool.query(
      `INSERT INTO model_call (account_id, trace_id, span_id, agent_id, started_at, cost, counts, settle_at)
       VALUES ($1, $2, gen_random_uuid(), 'writer', now(), 1, true, NULL)`,
      [other, trace],
    );
    await insertModelDay(pool, other);
    await insertModelDay(pool, own);
    const { body } = await (await signIn(own, "member")).get("/costs/traces").expect(200);
    expect(body).toEqual({ priced: 0, mean_cost_usd: null, traces: [] });
  });

  it("400: refuses more calls than one answer sums, by name", async () => {
    const owner = await signIn(await makeAccount());
    await insertModelDay(pool, owner.accountId, { calls: 500_000 });
    await owner.get("/costs/traces").expect(200);
    await insertModelDay(pool, owner.accountId, { ago: 1 });
    const { body } = await owner.get("/costs/traces?agent_id=writer").expect(400);
    expect(Object.keys(body.fields)).toEqual(["from"]);
    await owner.get("/costs").expect(200);
  });
});
