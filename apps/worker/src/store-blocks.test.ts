import { describe, expect, it } from "@jest/globals";
import { byRole, createPool, createUuidV7, grantRoles, roleUrl, uuidV7Floor } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import { createStoreBlocks } from "./account-rounds.job.js";
import { createPurgeExpired } from "./retention/purge-expired.job.js";
import { createTestLog } from "./worker.fixture.js";

const dayMs = 24 * 3_600_000;
const uuid = createUuidV7();

describe("blocks of traces", () => {
  const database = useDatabase();
  const prefix = useRolePrefix();

  it("are stored by the worker's role, and go with the last of their traces", async () => {
    const passwords = byRole((role) => `password-of-${role}`);
    await grantRoles(database.url, passwords, prefix);
    const accountId = uuid();
    await database.pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'free')", [
      accountId,
      `${accountId}@example.com`,
    ]);
    await database.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
       SELECT $1, (left($2, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'agent', 'run ' || n, 'running', now(), now() - interval '1 day'
       FROM generate_series(1, 600) n`,
      [accountId, uuidV7Floor(Date.now() - dayMs)],
    );
    const pool = createPool({
      connectionString: roleUrl(database.url, "worker", passwords.worker, prefix),
      maxConnections: 2,
      applicationName: "test",
      statementTimeoutMs: 10_000,
    });
    const { log, lines } = createTestLog();
    const store = createStoreBlocks({ pool, log, isStopping: () => false });
    const purge = (now: number) =>
      createPurgeExpired({ pool, log, now: () => new Date(now), isStopping: () => false })();
    await store();
    await pool.query("UPDATE trace SET status = 'timeout' WHERE account_id = $1 AND name = 'run 1'", [accountId]);
    expect(await purge(Date.now())).toMatchObject({ trace_block: 0, trace_change: 0 });
    await store();
    await pool.query("UPDATE trace SET status = 'error' WHERE account_id = $1 AND name = 'run 2'", [accountId]);
    expect(await purge(Date.now() + 30 * dayMs)).toMatchObject({ trace: 600, trace_block: 2, trace_change: 1 });
    await pool.end();
    expect(lines.filter(({ msg }) => msg === "blocks of traces stored")).toMatchObject([{ blocks: 2 }, { blocks: 1 }]);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
  });
});
