import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createRule, listRules, type RuleInput } from "./rules.query.js";

const { pool } = useDatabase();

async function makeAccount() {
  const id = createUuidV7()();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, `${id}@example.com`]);
  return id;
}

const rule: RuleInput = { agentId: "a", abovePercent: 20, ofTraces: 5, withinSeconds: 900 };

describe("a new rule", () => {
  it.each<[Partial<RuleInput>, Record<string, string>]>([
    [{ agentId: "" }, { agent: "Must not be empty" }],
    [{ p95AboveMs: 0 }, { above: "Must be a time of at most 24h" }],
    [{ p95AboveMs: 30_000, withinSeconds: 3_601 }, { within: "Must be from 1m to 1h" }],
    [{ agentId: null }, { agent: "Must not be empty" }],
    [{ agentId: null, userId: "" }, { user: "Must not be empty" }],
    [{ environment: "e" }, { environment: "Must not be given with another one of agent, user and environment" }],
    [{ agentId: null, environment: "e".repeat(201) }, { environment: "Must be at most 200 characters" }],
    [{ tokensAbove: 0 }, { above: "Must be a whole number from 1 to 1000000000" }],
    [{ costPer: "trace", aboveCost: "-1" }, { above: "Must be dollars, such as 5.00" }],
    [{ costPer: "day" }, { above: "Must be dollars, such as 5.00" }],
    [{ costPer: "month", aboveCost: "1e3" }, { above: "Must be dollars, such as 5.00" }],
    [{ costPer: "month", aboveCost: "0.0000001" }, { above: "Must be dollars, such as 5.00" }],
    [{ agentId: "a".repeat(256) }, { agent: "Must be at most 255 characters" }],
    [{ abovePercent: -1 }, { above: "Must be from 0% to under 100%" }],
    [{ abovePercent: 100 }, { above: "Must be from 0% to under 100%" }],
    [{ ofTraces: 0 }, { of: "Must be a whole number from 1 to 10000" }],
    [{ ofTraces: 10_001 }, { of: "Must be a whole number from 1 to 10000" }],
    [{ ofTraces: 1.5 }, { of: "Must be a whole number from 1 to 10000" }],
    [{ withinSeconds: 59 }, { within: "Must be from 1m to 24h" }],
    [{ withinSeconds: 86_401 }, { within: "Must be from 1m to 24h" }],
  ])("with %j is refused by field", async (wrong, fields) => {
    const accountId = await makeAccount();
    await expect(createRule(pool, accountId, { ...rule, ...wrong })).rejects.toMatchObject({ details: { fields } });
    expect(await listRules(pool, accountId)).toEqual([]);
  });

  it.each<Partial<RuleInput>>([
    { agentId: null, costPer: "month", aboveCost: "999999999.999999" },
    { agentId: "a".repeat(255) },
    { agentId: null, userId: "u".repeat(200), costPer: "trace", aboveCost: "0" },
    { agentId: null, environment: "e", tokensAbove: 1, withinSeconds: 60 },
    { abovePercent: 0, ofTraces: 1, withinSeconds: 60 },
    { abovePercent: 99, ofTraces: 10_000, withinSeconds: 86_400 },
  ])("takes the bounds of %j", async (bounds) => {
    const accountId = await makeAccount();
    await createRule(pool, accountId, { ...rule, ...bounds });
    expect(await listRules(pool, accountId)).toHaveLength(1);
  });
});
