import { randomUUID } from "node:crypto";
import { afterAll } from "@jest/globals";
import { createPool } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";

export interface TestTraces {
  /** Plans statements as the services' pools do. */
  readonly pool: pg.Pool;
  makeAccount(): Promise<string>;
  /** Inserts the traces `run 1`, `run 2` and so on; three of them share each start. */
  insertTraces(accountId: string, count: number): Promise<void>;
  insertTrace(accountId: string): Promise<string>;
  /** Inserts spans; `value` is SQL for the input of span `n`. */
  insertSpans(accountId: string, traceId: string, count: number, value: string, column?: string): Promise<void>;
}

export function useTraces(): TestTraces {
  const { url } = useDatabase();
  const pool = createPool({
    connectionString: url,
    maxConnections: 10,
    applicationName: "test",
    statementTimeoutMs: 10_000,
    plansOnce: true,
  });
  afterAll(() => pool.end());
  return {
    pool,
    async makeAccount() {
      const id = randomUUID();
      await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, `${id}@example.com`]);
      return id;
    },
    async insertTraces(accountId, count) {
      await pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
         SELECT $1, gen_random_uuid(), 'agent', 'run ' || n, 'success',
           '2026-06-01T12:00:00Z'::timestamptz + n / 3 * interval '1 second'
         FROM generate_series(1, $2::int) n`,
        [accountId, count],
      );
    },
    async insertTrace(accountId) {
      const id = randomUUID();
      await pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
         VALUES ($1, $2, 'agent', 'a run', 'running', '2026-06-01T12:00:00Z')`,
        [accountId, id],
      );
      return id;
    },
    async insertSpans(accountId, traceId, count, value, column = "input") {
      await pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ${column})
         SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', now(), ${value} FROM generate_series(1, $3::int) n`,
        [accountId, traceId, count],
      );
    },
  };
}
