import { afterAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createPool } from "./pool.js";

const database = useDatabase();
const pools: ReturnType<typeof createPool>[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

function open(connectionString: string, pipeline = false) {
  const limits = { statementTimeoutMs: 1_234, lockTimeoutMs: 567, idleTransactionTimeoutMs: 8_901 };
  const pool = createPool({
    connectionString,
    maxConnections: 2,
    applicationName: "test",
    ...limits,
    plansOnce: true,
    pipeline,
  });
  pools.push(pool);
  return pool;
}

describe("a session", () => {
  it.each([false, true])(
    "has its limits and forms of times before its first statement (pipeline %s)",
    async (pipeline) => {
      const name = new URL(database.url).pathname.slice(1);
      await database.pool.query(`ALTER DATABASE "${name}" SET timezone = 'Europe/Berlin'`);
      await database.pool.query(`ALTER DATABASE "${name}" SET datestyle = 'SQL, DMY'`);
      const { rows } = await open(database.url, pipeline).query(
        `SELECT name, setting FROM pg_settings WHERE name IN ('TimeZone', 'DateStyle', 'statement_timeout', 'lock_timeout',
        'idle_in_transaction_session_timeout', 'plan_cache_mode', 'enable_seqscan', 'jit')`,
      );
      expect(Object.fromEntries(rows.map(({ name: parameter, setting }) => [parameter, setting]))).toEqual({
        TimeZone: "UTC",
        DateStyle: "ISO, MDY",
        statement_timeout: "1234",
        lock_timeout: "567",
        idle_in_transaction_session_timeout: "8901",
        plan_cache_mode: "force_generic_plan",
        enable_seqscan: "off",
        jit: "off",
      });
    },
  );
});
