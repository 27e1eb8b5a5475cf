import { describe, expect, it } from "@jest/globals";
import { byRole, createPool, grantRoles, roleUrl } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import type pg from "pg";
import { createSettleCalls } from "./account-rounds.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import { createTestLog, makeFailedTrace } from "./worker.fixture.js";

const database = useDatabase();
const prefix = useRolePrefix();
const passwords = byRole((role) => `password of ${role}`.replaceAll(" ", "-"));

async function as<Result>(role: "worker" | "trace_api", work: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const pool = createPool({
    connectionString: roleUrl(database.url, role, passwords[role], prefix),
    maxConnections: 2,
    applicationName: "test",
    statementTimeoutMs: 10_000,
  });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const insertCallSql = `INSERT INTO model_call (account_id, trace_id, span_id, started_at, model, input_tokens, cost)
  VALUES ($1, $2, gen_random_uuid(), $3, 'gpt-4o', 10, 0.5)`;

describe("the sums of model calls", () => {
  it("are booked by the worker's role, once", async () => {
    await grantRoles(database.url, passwords, prefix);
    const { accountId, traceId } = await makeFailedTrace(database.pool);
    await as("trace_api", (pool) => pool.query(insertCallSql, [accountId, traceId, "2026-06-01T12:00:00Z"]));
    await as("worker", async (pool) => {
      const settle = createSettleCalls({ pool, log: createTestLog().log, isStopping: () => false });
      await settle();
      await settle();
    });
    const { rows } = await database.pool.query(
      "SELECT day::text, model, calls::int, input_tokens::int, trim_scale(cost)::text AS cost FROM model_day WHERE account_id = $1",
      [accountId],
    );
    expect(rows).toEqual([{ day: "2026-06-01", model: "gpt-4o", calls: 1, input_tokens: 10, cost: "0.5" }]);
  });

  it("outlast the calls of old traces, and go after 13 months", async () => {
    const { accountId, traceId: young } = await makeFailedTrace(database.pool);
    const old = "01000000-0000-7000-8000-000000000000";
    const now = new Date();
    for (const traceId of [young, old]) {
      await database.pool.query(insertCallSql, [accountId, traceId, "2020-01-01T00:00:00Z"]);
      await database.pool.query(insertCallSql, [accountId, traceId, now]);
    }
    await database.pool.query(
      `INSERT INTO model_day SELECT $1, current_date - days, 'agent', 'openai', 'gpt-4o', 1, 1, 10, 0, 0, 0, 0, 0.5
       FROM unnest(ARRAY[396, 398]) AS days`,
      [accountId],
    );
    await grantRoles(database.url, passwords, prefix);
    const removed = await as("worker", (pool) =>
      createPurgeExpired({ pool, log: createTestLog().log, now: () => now, isStopping: () => false })(),
    );
    expect(removed).toMatchObject({ model_call: 1, model_day: 1 });
    const { rows } = await database.pool.query(
      "SELECT (SELECT count(*)::int FROM model_call WHERE account_id = $1) AS calls, (SELECT count(*)::int FROM model_day WHERE account_id = $1) AS days",
      [accountId],
    );
    expect(rows).toEqual([{ calls: 3, days: 1 }]);
  });
});
