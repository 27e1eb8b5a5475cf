import { describe, expect, it } from "@jest/globals";
import { createPool, serviceTimeouts } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import pg from "pg";
import { makeFullAccount } from "../full-account.fixture.js";
import { addTriggers, setPhase } from "./slot-move.query.js";

const database = useDatabase();

/** Sends the plan of each statement, also within functions, to the session as a notice, with a part `JIT:` where it was compiled. */
const showPlans = `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
  SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice`;

async function plansOf(client: pg.ClientBase, sql: string, values: unknown[] = []): Promise<string[]> {
  const plans: string[] = [];
  const note = ({ message = "" }: { message?: string | undefined }) => void plans.push(message);
  client.on("notice", note);
  await client.query(sql, values);
  client.off("notice", note);
  return plans;
}

const isCompiled = (plan: string) => plan.includes("JIT:");

describe("a write of another account during a move", () => {
  const write = "UPDATE trace_usage SET traces = traces + 1 WHERE account_id = $1";

  async function beginMove(): Promise<string> {
    const moved = await makeFullAccount(database.pool, { slot: "aa", domain: "aa.example" });
    const { accountId } = await makeFullAccount(database.pool, { slot: "bb", domain: "bb.example" });
    await setPhase(database.pool, { slot: "aa", id: moved.accountId, phase: "moving", other: "there" });
    await addTriggers(database.pool);
    return accountId;
  }

  it("is never compiled just in time: neither in a service nor in a session of another program", async () => {
    const accountId = await beginMove();
    const service = createPool({
      connectionString: database.directUrl,
      maxConnections: 1,
      applicationName: "test",
      ...serviceTimeouts,
      plansOnce: true,
    });
    const other = new pg.Client({ connectionString: database.directUrl });
    await other.connect();
    const client = await service.connect();
    try {
      await other.query("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = on");
      for (const session of [client, other]) {
        await session.query(showPlans);
        const plans = await plansOf(session, write, [accountId]);
        expect(plans.some((plan) => plan.includes("FROM slot_move WHERE phase"))).toBe(true);
        expect(plans.filter(isCompiled)).toEqual([]);
      }
      // The test sees a compiled statement wherever the server can compile one.
      await other.query("SET jit_above_cost = 0");
      const [{ can }] = (await other.query("SELECT pg_jit_available() AS can")).rows as [{ can: boolean }];
      expect((await plansOf(other, "SELECT count(*) FROM account")).some(isCompiled)).toBe(can);
    } finally {
      client.release();
      await service.end();
      await other.end();
    }
  });
});
