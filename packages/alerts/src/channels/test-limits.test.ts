import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { claimAlert } from "../claim-alert.query.js";
import { testChannel } from "./channels.query.js";

const { pool } = useDatabase();

it("tests of the account's own channel count as its mails of the hour", async () => {
  const accountId = randomUUID();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
    accountId,
    `${accountId}@example.com`,
  ]);
  for (let n = 0; n < 2; n++) await testChannel(pool, { channelId: accountId });
  const insert = "INSERT INTO alert (account_id, id, trace_id, status, routed_at) VALUES ($1, $2, $3, 'error', now())";
  await pool.query(insert, [accountId, randomUUID(), randomUUID()]);
  const claim = (perAccount: number) =>
    claimAlert(pool, { after: undefined, limits: { perTrace: 5, perAccount }, leaseMs: 1_000 });
  expect(await claim(2)).toMatchObject({ accountId, verdict: "held", held: 1 });
  await pool.query("UPDATE alert SET held_until = NULL WHERE account_id = $1", [accountId]);
  expect(await claim(3)).toMatchObject({ accountId, verdict: "send" });
});
