import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createUuidV7, withTransaction } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { changeAlertSettings } from "./alert-settings.query.js";
import { createChannel } from "./channels.query.js";
import { claimDelivery } from "./claim-delivery.query.js";
import { readOwedDelivery } from "./deliveries.query.js";
import { routeAlerts } from "./route-alerts.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();

async function makeAccount() {
  const id = uuid();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, `${id}@example.com`]);
  return id;
}

/** Failed traces of an agent, whose failing span has an error. */
async function fail(accountId: string, count: number, error = "e"): Promise<void> {
  for (let n = 0; n < count; n++) {
    const [traceId, alertId] = [uuid(), uuid()];
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, alert_id) VALUES ($1, $2, 'a', 'n', 'error', now(), $3)`,
      [accountId, traceId, alertId],
    );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error) VALUES ($1, $2, $3, 's', 'error', now(), $4)`,
      [accountId, traceId, uuid(), error],
    );
    const alert = "INSERT INTO alert (account_id, id, trace_id, status) VALUES ($1, $2, $3, 'error')";
    await pool.query(alert, [accountId, alertId, traceId]);
  }
}

const goOn = { isStopping: () => false };
const route = (accountId: string, perHour = 100) =>
  routeAlerts(pool, { accountId, limits: { perHour, pending: 100 }, ...goOn });

/** Deliveries to channels other than the account's own, oldest first; a digest's time in minutes from now. */
async function deliveriesOf(accountId: string) {
  const { rows } = await pool.query(
    `SELECT type, failures, round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM delivery
     WHERE account_id = $1 AND channel_id <> account_id ORDER BY event_id`,
    [accountId],
  );
  return rows;
}

const limits = { perTrace: 5, perAccount: 100 };
const slack = { kind: "slack", to: "https://hooks.slack.com/services/T0/B0/x" } as const;

describe("routing", () => {
  it("tells each alert once, when two workers find it together", async () => {
    const accountId = await makeAccount();
    await createChannel(pool, accountId, slack);
    await withTransaction(pool, (client) => changeAlertSettings(client, accountId, { mode: "digest" }));
    await fail(accountId, 5);
    const holder = await pool.connect();
    await holder.query("BEGIN; SELECT FROM alert_settings FOR UPDATE");
    const both = Promise.all([route(accountId), route(accountId)]);
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while ((await pool.query(waiting)).rowCount !== 2) await setTimeout(10);
    await holder.query("COMMIT");
    holder.release();
    await both;
    expect(await deliveriesOf(accountId)).toEqual([{ type: "digest", failures: 5, minutes: 0 }]);
  });

  it("collects what is beyond a channel's hour until the hour has room, and forgets what is older", async () => {
    const accountId = await makeAccount();
    await createChannel(pool, accountId, slack);
    await fail(accountId, 2);
    await route(accountId, 2);
    await pool.query("UPDATE delivery SET created_at = now() - interval '50 minutes' WHERE account_id = $1", [
      accountId,
    ]);
    await fail(accountId, 3);
    await route(accountId, 2);
    const single = { type: "trace.failed", failures: 1, minutes: 0 };
    expect(await deliveriesOf(accountId)).toEqual([single, single, { type: "digest", failures: 3, minutes: 10 }]);
    await pool.query("UPDATE delivery SET created_at = now() - interval '61 minutes' WHERE account_id = $1", [
      accountId,
    ]);
    await fail(accountId, 2);
    await route(accountId, 2);
    expect((await deliveriesOf(accountId)).slice(3)).toEqual([single, single]);
  });

  it("goes on with other accounts after an error of one", async () => {
    const accounts = [await makeAccount(), await makeAccount(), await makeAccount()];
    for (const accountId of accounts) {
      await createChannel(pool, accountId, slack);
      await fail(accountId, 1);
    }
    const [first, broken, last] = accounts as [string, string, string];
    await pool.query(`ALTER TABLE delivery ADD CONSTRAINT broken CHECK (account_id <> '${broken}') NOT VALID`);
    const routing = routeAlerts(pool, { accountId: undefined, limits: { perHour: 9, pending: 9 }, ...goOn });
    await expect(routing).rejects.toThrow(/violates check constraint "broken"/);
    const counts = [];
    for (const accountId of [first, broken, last]) counts.push((await deliveriesOf(accountId)).length);
    expect(counts).toEqual([1, 0, 1]);
    await pool.query("ALTER TABLE delivery DROP CONSTRAINT broken");
    await route(broken);
    expect(await deliveriesOf(broken)).toHaveLength(1);
  });

  it("reads the failing span with at most 4,000 characters of its error", async () => {
    for (const length of [4_000, 4_001]) {
      const accountId = await makeAccount();
      await pool.query("UPDATE delivery SET sent_at = now() WHERE sent_at IS NULL");
      await createChannel(pool, accountId, slack);
      await fail(accountId, 1, "x".repeat(length));
      await route(accountId);
      const turn = { after: undefined, busyAccounts: [], busyChannels: [], leaseMs: 60_000, limits };
      const key = await claimDelivery(pool, turn);
      const owed = key && (await readOwedDelivery(pool, key));
      expect(owed?.trace?.failedSpan).toEqual({ name: "s", error: "x".repeat(4_000) });
    }
  });
});

it("a channel takes agents of at most 255 bytes", async () => {
  const accountId = await makeAccount();
  await createChannel(pool, accountId, { ...slack, agents: [`${"ä".repeat(127)}x`] });
  const tooLong = createChannel(pool, accountId, { ...slack, agents: ["ä".repeat(128)] });
  await expect(tooLong).rejects.toMatchObject({ status: 400 });
});
