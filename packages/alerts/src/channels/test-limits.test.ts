import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { testChannel } from "./channels.query.js";
import { claimDelivery } from "./claim-delivery.query.js";

const { pool } = useDatabase();

it("tests of the account's own channel count as its mails of the hour", async () => {
  const accountId = randomUUID();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
    accountId,
    `${accountId}@example.com`,
  ]);
  for (let n = 0; n < 2; n++) await testChannel(pool, { channelId: accountId });
  await pool.query("UPDATE delivery SET sent_at = now() WHERE account_id = $1", [accountId]);
  const eventId = randomUUID();
  const insert = "INSERT INTO alert (account_id, id, trace_id, status, routed_at) VALUES ($1, $2, $2, 'error', now())";
  await pool.query(insert, [accountId, eventId]);
  const claim = async (perAccount: number) => {
    await pool.query(
      "INSERT INTO delivery (account_id, event_id, channel_id, type) VALUES ($1, $2, $1, 'trace.failed')",
      [accountId, eventId],
    );
    const limits = { perTrace: 5, perAccount };
    return claimDelivery(pool, { after: undefined, busyAccounts: [], busyChannels: [], limits, leaseMs: 1_000 });
  };
  expect(await claim(2)).toMatchObject({ accountId, held: 1 });
  const { rows } = await pool.query("UPDATE alert SET held_until = NULL WHERE held_until > now() RETURNING id");
  expect(rows).toEqual([{ id: eventId }]);
  expect(await claim(3)).toEqual({ accountId, eventId, channelId: accountId, held: 0 });
});
