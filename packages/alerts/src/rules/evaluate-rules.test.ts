import { beforeEach, describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createChannel } from "../channels/channels.query.js";
import { evaluateRules } from "./evaluate-rules.query.js";
import { createRule, listRules } from "./rules.query.js";

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
