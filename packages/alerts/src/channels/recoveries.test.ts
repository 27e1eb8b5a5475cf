import { expect, it } from "@jest/globals";
import { createUuidV7, withTransaction } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createChannel } from "./channels.query.js";
import { noteFailing } from "./recoveries.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();

async function makeAccount(recovered: boolean) {
  const id = uuid();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, `${id}@example.com`]);
  await createChannel(pool, id, { kind: "webhook", to: "https://example.com/hook", recovered });
  return id;
}

/** The agents that are remembered after one has failed. */
async function fail(accountId: string) {
  const id = uuid();
  await pool.query("INSERT INTO alert (account_id, id, trace_id, status) VALUES ($1, $2, $2, 'error')", [
    accountId,
    id,
  ]);
  await withTransaction(pool, (client) => noteFailing(client, accountId, [{ id, agentId: "a" }]));
  const { rows } = await pool.query("SELECT agent_id FROM failing_agent WHERE account_id = $1", [accountId]);
  return rows.map(({ agent_id }) => agent_id);
}

it("remembers a failing agent only where one of the account's present channels asks for recoveries", async () => {
  const asking = await makeAccount(true);
  expect(await fail(await makeAccount(false))).toEqual([]);
  await pool.query("UPDATE channel SET disabled_at = now() WHERE account_id = $1 AND recovered", [asking]);
  expect(await fail(asking)).toEqual([]);
  await pool.query("UPDATE channel SET disabled_at = NULL WHERE account_id = $1", [asking]);
  expect(await fail(asking)).toEqual(["a"]);
});

it("remembers when the agent failed last, whatever failed after it", async () => {
  const accountId = await makeAccount(true);
  const add = (id: string, second: number) =>
    pool.query(`INSERT INTO alert (account_id, id, trace_id, status, created_at) VALUES ($1, $2, $2, 'error', $3)`, [
      accountId,
      id,
      new Date(Date.UTC(2026, 4, 1, 12, 0, second)),
    ]);
  const [first, last, other] = [uuid(), uuid(), uuid()];
  await add(first, 1);
  await add(last, 2);
  await add(other, 3);
  const failed = [first, last].map((id) => ({ id, agentId: "a" }));
  await withTransaction(pool, (client) => noteFailing(client, accountId, failed));
  const { rows } = await pool.query("SELECT agent_id, since FROM failing_agent WHERE account_id = $1", [accountId]);
  expect(rows).toEqual([{ agent_id: "a", since: new Date("2026-05-01T12:00:02Z") }]);
});
