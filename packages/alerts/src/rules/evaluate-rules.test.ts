import { beforeEach, describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { readModelUsage } from "@waymark/traces";
import { createChannel } from "../channels/channels.query.js";
import { evaluateRules, ruleSources } from "./evaluate-rules.query.js";
import { createRule, listRules, type RuleInput } from "./rules.query.js";

const uuid = createUuidV7();
const { pool } = useDatabase();
const goOn = { isStopping: () => false };
const ruleInput = { agentId: "a", abovePercent: 20, ofTraces: 5, withinSeconds: 900 };

// Each test counts the changes of its own account.
beforeEach(() => pool.query("DELETE FROM alert_rule"));

async function makeAccount(plan = "pro") {
  const id = uuid();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [id, `${id}@example.com`, plan]);
  return id;
}

async function makeRule() {
  const accountId = await makeAccount();
  const channel = await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
  await createRule(pool, accountId, ruleInput);
  return { accountId, channelId: channel.id };
}

async function end(accountId: string, status: string, count: number, { agent = "a", ago = "1 second" } = {}) {
  for (let n = 0; n < count; n++) {
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
       VALUES ($1, $2, $3, 'n', $4, '2026-01-01', now() - $5::interval)`,
      [accountId, uuid(), agent, status, ago],
    );
  }
}

async function eventsOf({ accountId, channelId }: { accountId: string; channelId: string }) {
  const { rows } = await pool.query(
    "SELECT type, content::text FROM delivery WHERE account_id = $1 AND channel_id = $2 ORDER BY event_id",
    [accountId, channelId],
  );
  return rows.map(({ type, content }) => ({ type, ...JSON.parse(content) }));
}

describe("a rule about the failure rate", () => {
  it("is told once when it is crossed and once when it is back, to the account's channels", async () => {
    const of = await makeRule();
    await end(of.accountId, "success", 4);
    await end(of.accountId, "error", 1);
    expect(await evaluateRules(pool, goOn)).toBe(0);
    await end(of.accountId, "timeout", 1);
    expect(await evaluateRules(pool, goOn)).toBe(1);
    expect(await evaluateRules(pool, goOn)).toBe(0);
    expect(await listRules(pool, of.accountId)).toMatchObject([{ state: "crossed", changed_at: expect.any(String) }]);
    await end(of.accountId, "success", 4);
    expect(await evaluateRules(pool, goOn)).toBe(1);
    const name = "Failure rate above 20 % of at least 5 traces within 15m";
    expect(await eventsOf(of)).toEqual([
      { type: "alert.rule", agent_id: "a", name, status: "crossed", error: "2 of 6 ended traces failed (33.3 %)" },
      { type: "alert.rule", agent_id: "a", name, status: "back", error: "2 of 10 ended traces failed (20 %)" },
    ]);
    await end(of.accountId, "error", 2);
    expect(await evaluateRules(pool, goOn)).toBe(1);
    expect(await eventsOf(of)).toHaveLength(3);
  });

  it("counts the ended traces of its agent and time, of at least so many", async () => {
    const of = await makeRule();
    const other = await makeAccount();
    await end(of.accountId, "error", 4);
    await end(of.accountId, "running", 5);
    await end(of.accountId, "error", 5, { agent: "b" });
    await end(of.accountId, "error", 5, { ago: "901 seconds" });
    await end(other, "error", 5);
    expect(await evaluateRules(pool, goOn)).toBe(0);
    await end(of.accountId, "error", 1);
    expect(await evaluateRules(pool, goOn)).toBe(1);
  });

  it("is told once by several workers at the same time", async () => {
    const of = await makeRule();
    await end(of.accountId, "error", 5);
    const changed = await Promise.all(Array.from({ length: 6 }, () => evaluateRules(pool, goOn)));
    expect(changed.reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(await eventsOf(of)).toHaveLength(1);
  });

  it("stays as it was where the event is not stored", async () => {
    const of = await makeRule();
    await end(of.accountId, "error", 5);
    await pool.query("ALTER TABLE delivery RENAME TO delivery_away");
    await expect(evaluateRules(pool, goOn)).rejects.toThrow("delivery");
    await pool.query("ALTER TABLE delivery_away RENAME TO delivery");
    expect(await listRules(pool, of.accountId)).toMatchObject([{ state: "quiet" }]);
    expect(await evaluateRules(pool, goOn)).toBe(1);
    expect(await eventsOf(of)).toHaveLength(1);
  });

  it("rests while the account's plan has no alerts", async () => {
    const of = await makeRule();
    await end(of.accountId, "error", 5);
    await pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [of.accountId]);
    expect(await evaluateRules(pool, goOn)).toBe(0);
  });
});

describe("a rule about cost", () => {
  const now = { at: new Date("2026-11-26T12:00:00Z") };
  const evaluate = () => evaluateRules(pool, { ...goOn, now: () => now.at });
  beforeEach(() => {
    now.at = new Date("2026-11-26T12:00:00Z");
  });

  async function makeCostRule(rule: Partial<RuleInput>) {
    const accountId = await makeAccount();
    const channel = await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
    await createRule(pool, accountId, { agentId: null, costPer: "day", aboveCost: "5.00", ...rule });
    return { accountId, channelId: channel.id };
  }

  /** A call as the trace API notes it, for settling to book. */
  async function call(accountId: string, cost: string, { agent = "a", day = "2026-11-26" } = {}) {
    const [traceId, spanId] = [uuid(), uuid()];
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at) VALUES ($1, $2, $3, 'n', 'success', $4)`,
      [accountId, traceId, agent, day],
    );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 'n', 'ok', $4)`,
      [accountId, traceId, spanId, day],
    );
    await pool.query(
      `INSERT INTO model_call (account_id, trace_id, span_id, started_at, model, input_tokens, output_tokens, cost)
       VALUES ($1, $2, $3, $4, 'm', 1, 1, $5)`,
      [accountId, traceId, spanId, day, cost],
    );
  }

  it("is told once above the sum of all agents, and is back with the next day", async () => {
    const of = await makeCostRule({});
    await call(of.accountId, "4.999999");
    await call(of.accountId, "0.000001", { agent: "b" });
    await call(of.accountId, "9", { day: "2026-11-25" });
    expect(await evaluate()).toBe(0);
    await call(of.accountId, "0.000001");
    expect(await evaluate()).toBe(1);
    expect(await evaluate()).toBe(0);
    now.at = new Date("2026-11-27T00:00:00Z");
    expect(await evaluate()).toBe(1);
    const rule = { type: "alert.rule", agent_id: null, name: "Cost above $5 a day" };
    expect(await eventsOf(of)).toEqual([
      { ...rule, status: "crossed", error: "$5.000001 in 2026-11-26 (UTC)" },
      { ...rule, status: "back", error: "$0 in 2026-11-27 (UTC)" },
    ]);
  });

  it("of a month sums its agent's days, as usage by model does", async () => {
    const of = await makeCostRule({ agentId: "a", costPer: "month", aboveCost: "10" });
    await call(of.accountId, "6", { day: "2026-11-01" });
    await call(of.accountId, "50", { agent: "b" });
    await call(of.accountId, "50", { day: "2026-10-31" });
    await call(of.accountId, "50", { day: "2026-12-01" });
    expect(await evaluate()).toBe(0);
    await call(of.accountId, "4.5", { day: "2026-11-30" });
    expect(await evaluate()).toBe(1);
    const asked = { accountId: of.accountId, from: "2026-11-01", to: "2026-12-01", agentId: "a" };
    const { models } = await readModelUsage(pool, asked);
    expect(models.map(({ cost_usd }) => cost_usd)).toEqual(["10.5"]);
    expect(await eventsOf(of)).toMatchObject([{ agent_id: "a", error: "$10.5 in 2026-11 (UTC)" }]);
  });

  it("goes to channels of its agent, and one about the account to those of all agents", async () => {
    const of = await makeCostRule({ aboveCost: "0" });
    const named = await createChannel(pool, of.accountId, {
      kind: "webhook",
      to: "https://example.com/named",
      agents: ["a"],
    });
    await call(of.accountId, "1");
    expect(await evaluate()).toBe(1);
    expect(await eventsOf(of)).toHaveLength(1);
    expect(await eventsOf({ ...of, channelId: named.id })).toEqual([]);
  });
});

describe("rules about calls and labels", () => {
  const today = () => new Date().toISOString().slice(0, 10);
  const evaluate = () => evaluateRules(pool, { ...goOn, sources: [...ruleSources.short, ...ruleSources.long] });

  interface Call {
    cost?: string | null;
    tokens?: number;
    user?: string | null;
    environment?: string | null;
    /** Of an earlier call's trace. */
    traceId?: string;
    startedAt?: string;
  }

  async function call(accountId: string, { cost = null, tokens = 1, user, environment, traceId, startedAt }: Call) {
    const [id, spanId, start] = [traceId ?? uuid(), uuid(), startedAt ?? new Date().toISOString()];
    if (!traceId)
      await pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, user_id, environment)
         VALUES ($1, $2, 'a', 'n', 'error', $3, $4, $5)`,
        [accountId, id, start, user, environment],
      );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 'n', 'ok', $4)`,
      [accountId, id, spanId, start],
    );
    await pool.query(
      `INSERT INTO model_call (account_id, trace_id, span_id, started_at, model, input_tokens, output_tokens, cost)
       VALUES ($1, $2, $3, $4, 'm', $5, 0, $6)`,
      [accountId, id, spanId, start, tokens, cost],
    );
    return id;
  }

  async function makeRuleOf(rule: Partial<RuleInput>) {
    const accountId = await makeAccount();
    const channel = await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
    await createRule(pool, accountId, { agentId: null, ...rule });
    return { accountId, channelId: channel.id };
  }

  it("name the trace that costs more, once", async () => {
    const of = await makeRuleOf({ costPer: "trace", aboveCost: "1", userId: "ann" });
    const { accountId } = of;
    const first = await call(accountId, { cost: "0.6", user: "ann" });
    await call(accountId, { cost: "0.6", user: "ann" });
    await call(accountId, { cost: "9", user: "bob" });
    expect(await evaluate()).toBe(0);
    await call(accountId, { cost: "0.6", traceId: first });
    expect(await evaluate()).toBe(1);
    expect(await evaluate()).toBe(0);
    await pool.query("UPDATE model_call SET written_at = now() - interval '2 hours' WHERE account_id = $1", [
      accountId,
    ]);
    expect(await evaluate()).toBe(1);
    const told = { type: "alert.rule", agent_id: null, name: "Cost of a trace above $1, user ann" };
    expect(await eventsOf(of)).toEqual([
      { ...told, status: "crossed", error: `$1.2 for trace ${first}` },
      { ...told, status: "back", error: "No trace had a priced call within the hour" },
    ]);
  });

  it("tell of tokens a minute, on average over the time", async () => {
    const of = await makeRuleOf({ tokensAbove: 1_000, withinSeconds: 300, environment: "production" });
    await call(of.accountId, { tokens: 5_000, environment: "production" });
    await call(of.accountId, { tokens: 50_000, environment: "test" });
    await call(of.accountId, { tokens: 50_000 });
    expect(await evaluate()).toBe(0);
    await call(of.accountId, { tokens: 5, environment: "production" });
    expect(await evaluate()).toBe(1);
    expect(await eventsOf(of)).toMatchObject([
      { name: "Tokens above 1000 a minute within 5m, environment production", error: "1001 tokens a minute" },
    ]);
  });

  it("sum the cost of a user or an environment as a recount does", async () => {
    const of = await makeRuleOf({ costPer: "day", aboveCost: "2", userId: "ann" });
    const { accountId } = of;
    await createRule(pool, accountId, { agentId: null, environment: "production", costPer: "month", aboveCost: "5" });
    const old = await call(accountId, {
      cost: "3",
      user: "ann",
      environment: "production",
      startedAt: `${today().slice(0, 7)}-01`,
    });
    await call(accountId, { cost: "4", user: "ann", startedAt: "2026-01-01" });
    await call(accountId, { cost: "1.5", user: "ann", startedAt: today() });
    await call(accountId, { cost: "1.5", user: "bob", environment: "production", startedAt: today() });
    const isFirst = today().endsWith("-01");
    expect(await evaluate()).toBe(isFirst ? 1 : 0);
    await call(accountId, { cost: "0.500001", traceId: old, startedAt: today() });
    expect(await evaluate()).toBe(isFirst ? 1 : 2);
    const told = await eventsOf(of);
    expect(told).toContainEqual(
      expect.objectContaining({ error: `$5.000001 in ${today().slice(0, 7)} (UTC)`, status: "crossed" }),
    );
    if (!isFirst) expect(told).toContainEqual(expect.objectContaining({ error: `$2.000001 in ${today()} (UTC)` }));
  });

  it("count failures and durations of a user or an environment", async () => {
    const of = await makeRuleOf({ ...ruleInput, agentId: null, environment: "production", ofTraces: 2 });
    await call(of.accountId, { environment: "production" });
    await call(of.accountId, { environment: "test" });
    expect(await evaluate()).toBe(0);
    await call(of.accountId, { environment: "production" });
    expect(await evaluate()).toBe(1);
    expect(await eventsOf(of)).toMatchObject([{ error: "2 of 2 ended traces failed (100 %)" }]);
  });
});

describe("a rule about durations", () => {
  const endIn = (accountId: string, ms: number, count: number, agent = "a") =>
    pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, written_at)
       SELECT $1, uuid_floor(now() + n * interval '1 ms'), $2, 'n', 'success', s, s + $3 * interval '1 ms', now()
       FROM generate_series($4::int, $4 + $5 - 1) AS n, (VALUES ('2026-01-01'::timestamptz)) AS v (s)`,
      [accountId, agent, ms, ++ended * 100, count],
    );
  let ended = 0;

  it("is told once above the 95th percentile by nearest rank, and is back below it", async () => {
    const accountId = await makeAccount();
    const channel = await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
    await createRule(pool, accountId, { agentId: null, p95AboveMs: 30_000, withinSeconds: 900 });
    expect(await evaluateRules(pool, goOn)).toBe(0);
    await endIn(accountId, 30_000, 19);
    await endIn(accountId, 30_001, 1, "b");
    expect(await evaluateRules(pool, goOn)).toBe(0);
    await endIn(accountId, 30_001, 1, "b");
    expect(await evaluateRules(pool, goOn)).toBe(1);
    await endIn(accountId, -5, 50);
    expect(await evaluateRules(pool, goOn)).toBe(0);
    await endIn(accountId, 1, 20);
    expect(await evaluateRules(pool, goOn)).toBe(1);
    const told = { type: "alert.rule", agent_id: null, name: "95th percentile of durations above 30 s within 15m" };
    expect(await eventsOf({ accountId, channelId: channel.id })).toEqual([
      { ...told, status: "crossed", error: "The 95th percentile is 30.001 s" },
      { ...told, status: "back", error: "The 95th percentile is 30 s" },
    ]);
  });
});
