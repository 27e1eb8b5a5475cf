import { expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createPool } from "./pool.js";
import { withTransaction } from "./transaction.js";

const database = useDatabase();

it("a transaction whose connection the server ends rejects, and the pool goes on with another", async () => {
  const pool = createPool({
    connectionString: database.url,
    maxConnections: 1,
    applicationName: "test",
    statementTimeoutMs: 10_000,
  });
  const ended = withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const sleeping = client.query("SELECT pg_sleep(60)");
    await database.pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
    await sleeping;
  });
  await expect(ended).rejects.toMatchObject({ code: "57P01" });
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});
