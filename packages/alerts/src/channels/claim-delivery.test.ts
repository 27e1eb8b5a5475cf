import { expect, it } from "@jest/globals";
import { createUuidV7, withTransaction } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createChannel } from "./channels.query.js";
import { claimDelivery } from "./claim-delivery.query.js";
import { enqueueEvent } from "./enqueue-event.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();
const limits = { perTrace: 5, perAccount: 1 };

/** An account with a webhook and an event, which goes there and into a mail. */
async function makeAccount() {
  const id = uuid();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, `${id}@example.com`]);
  await createChannel(pool, id, { kind: "webhook", to: "https://example.com/hook" });
  const event = { accountId: id, type: "alert.rule", data: { agent_id: "a" } } as const;
  await withTransaction(pool, (client) => enqueueEvent(client, event));
  return id;
}

it("claims deliveries of accounts in turns, until none is due", async () => {
  const [first, second] = [await makeAccount(), await makeAccount()];
  const claimed: (string | undefined)[] = [];
  for (let after: string | undefined; claimed.length < 5; after = claimed.at(-1)) {
    const turn = { after, busyAccounts: [], busyChannels: [], leaseMs: 60_000, limits };
    claimed.push((await claimDelivery(pool, turn))?.accountId);
  }
  expect(claimed).toEqual([first, second, first, second, undefined]);
});

it("lets a channel have so many digests within an hour, and says nothing of those before", async () => {
  const accountId = await makeAccount();
  const digest = `INSERT INTO delivery (account_id, event_id, channel_id, type, content, due_at, is_collecting, agent_id, begun_at)
    SELECT $1, $2, id, 'digest', '{}', $3, $4, 'a', $5 FROM channel WHERE account_id = $1 AND kind = 'webhook'`;
  await pool.query("UPDATE delivery SET sent_at = now() WHERE sent_at IS NULL");
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const add = (isCollecting: boolean, begunAt: Date | null) =>
    pool.query(digest, [accountId, uuid(), minutesAgo(1), isCollecting, begunAt]);
  await add(true, null);
  const turn = { after: undefined, busyAccounts: [], busyChannels: [], leaseMs: 60_000 };
  for (const begun of [70, 50, 40]) await add(false, minutesAgo(begun));
  await pool.query("UPDATE delivery SET sent_at = now() WHERE begun_at IS NOT NULL");
  expect(await claimDelivery(pool, { ...turn, limits: { ...limits, perAccount: 2 } })).toBeUndefined();
  const { rows } = await pool.query(
    "SELECT round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM delivery WHERE is_collecting AND account_id = $1",
    [accountId],
  );
  expect(rows).toEqual([{ minutes: 10 }]);
  await pool.query("UPDATE delivery SET due_at = now() WHERE is_collecting");
  expect(await claimDelivery(pool, { ...turn, limits: { ...limits, perAccount: 3 } })).toMatchObject({ accountId });
});
