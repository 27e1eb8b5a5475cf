import { expect, it } from "@jest/globals";
import { createUuidV7, withTransaction } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createChannel } from "./channels.query.js";
import { claimDelivery } from "./claim-delivery.query.js";
import { enqueueEvent } from "./enqueue-event.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();

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
    const turn = { after, busyAccounts: [], busyChannels: [], leaseMs: 60_000, digestsPerHour: 1 };
    claimed.push((await claimDelivery(pool, turn))?.accountId);
  }
  expect(claimed).toEqual([first, second, first, second, undefined]);
});
