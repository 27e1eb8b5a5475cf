import { expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { randomRuns, useDatabase } from "@waymark/testing";
import { sumUsage } from "@waymark/traces";
import fc from "fast-check";
import { createChannel } from "../channels/channels.query.js";
import { evaluateRules, ruleSources } from "./evaluate-rules.query.js";
import { createRule } from "./rules.query.js";

const uuid = createUuidV7();
const { pool } = useDatabase();

const owner = fc.option(fc.constantFrom("x", "y"), { nil: null });
const step = fc.record({
  agent: fc.constantFrom("x", "y"),
  user: owner,
  environment: owner,
  day: fc.constantFrom("2026-10-31", "2026-11-01", "2026-11-26", "2026-11-27"),
  /** In millionths of a dollar. */
  cost: fc.integer({ min: 0, max: 3_000_000 }),
  /** Whether its trace becomes one of user x without an environment. */
  isMoved: fc.boolean(),
});
const rule = fc.record({
  dimension: fc.constantFrom("agent", "user", "environment"),
  isOfAll: fc.nat({ max: 4 }).map((n) => n === 0),
  per: fc.constantFrom("day", "month"),
  above: fc.nat({ max: 4 }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Rule = typeof rule extends fc.Arbitrary<infer Value> ? Value : never;

interface Spent extends Omit<Step, "isMoved"> {
  id: string;
}

const dollars = (millionths: number) => String(Number((millionths / 1_000_000).toFixed(6)));

async function spend(accountId: string, { id, agent, user, environment, day, cost }: Spent) {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, user_id, environment)
     VALUES ($1, $2, $3, 'n', 'success', $4, $5, $6)`,
    [accountId, id, agent, day, user, environment],
  );
  const spanId = uuid();
  await pool.query(
    "INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 'n', 'ok', $4)",
    [accountId, id, spanId, day],
  );
  await pool.query(
    `INSERT INTO model_call (account_id, trace_id, span_id, started_at, model, input_tokens, output_tokens, cost)
     VALUES ($1, $2, $3, $4, 'm', 1, 1, $5::numeric / 1000000)`,
    [accountId, id, spanId, day, cost],
  );
}

/** The rule, watched after each step: what it sums, and what it has told. */
async function watch(accountId: string, { dimension, isOfAll, per, above }: Rule) {
  const { id: channelId } = await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
  const name = { agent: "agentId", user: "userId", environment: "environment" }[dimension];
  const said = isOfAll ? {} : { [name]: "x" };
  await createRule(pool, accountId, { agentId: null, costPer: per, aboveCost: String(above), ...said });
  const expected: string[] = [];
  let isCrossed = false;
  return async (spent: readonly Spent[], moment: string) => {
    const period = moment.slice(0, per === "day" ? 10 : 7);
    const own = spent.filter(({ day, ...each }) => day.startsWith(period) && (isOfAll || each[dimension] === "x"));
    const sum = own.reduce((all, { cost }) => all + cost, 0);
    if (sum > above * 1_000_000 !== isCrossed) {
      isCrossed = !isCrossed;
      expected.push(`${isCrossed ? "crossed" : "back"}: $${dollars(sum)} in ${period} (UTC)`);
    }
    const sources = [...ruleSources.short, ...ruleSources.long];
    for (let n = 0; n < 2; n++)
      await evaluateRules(pool, { isStopping: () => false, now: () => new Date(moment), sources });
    const sql = "SELECT content FROM delivery WHERE account_id = $1 AND channel_id = $2 ORDER BY event_id";
    const { rows } = await pool.query(sql, [accountId, channelId]);
    expect(rows.map(({ content }) => `${content.status}: ${content.error}`)).toEqual(expected);
    const [from, to] =
      per === "day" ? [period, `2026-11-${Number(period.slice(8)) + 1}`] : ["2026-11-01", "2026-12-01"];
    const usage = await sumUsage(pool, { accountId, from, to, dimension });
    const costs = usage.rows.filter(({ value }) => isOfAll || value === "x").map(({ cost_usd }) => Number(cost_usd));
    expect(dollars(costs.reduce((all, cost) => all + cost * 1_000_000, 0))).toBe(dollars(sum));
  };
}

it("a rule about cost sums as /usage/by and a recount do, and tells each crossing and its end once", async () => {
  const scenario = fc.array(step, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(rule, scenario, async (asked, steps) => {
      await pool.query("DELETE FROM alert_rule");
      const accountId = uuid();
      await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
        accountId,
        `${accountId}@example.com`,
      ]);
      const check = await watch(accountId, asked);
      let spent: Spent[] = [];
      for (const { isMoved, ...each } of steps) {
        const made = { ...each, id: uuid() };
        await spend(accountId, made);
        spent.push(made);
        await check(spent, "2026-11-26T12:00:00Z");
        if (!isMoved) continue;
        const labels = { user: "x", environment: null } as const;
        await pool.query("UPDATE trace SET user_id = 'x', environment = NULL WHERE account_id = $1 AND id = $2", [
          accountId,
          made.id,
        ]);
        spent = spent.map((other) => (other.id === made.id ? { ...other, ...labels } : other));
        await check(spent, "2026-11-26T12:00:00Z");
      }
      await check(spent, "2026-11-27T00:00:00Z");
    }),
    randomRuns(20),
  );
}, 120_000);
