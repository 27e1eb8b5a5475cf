import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { readTraceFailures } from "@waymark/traces";
import { createChannel } from "../channels/channels.query.js";
import { routeAlerts } from "../channels/route-alerts.query.js";
import { createMute, listMutes } from "./mutes.query.js";

const uuid = createUuidV7();
const { pool } = useDatabase();

async function addFailure(accountId: string, agent: string) {
  const [traceId, alertId] = [uuid(), uuid()];
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, alert_id) VALUES ($1, $2, $3, 'n', 'error', now(), $4)`,
    [accountId, traceId, agent, alertId],
  );
  await pool.query("INSERT INTO alert (account_id, id, trace_id, status) VALUES ($1, $2, $3, 'error')", [
    accountId,
    alertId,
    traceId,
  ]);
  return { traceId, alertId };
}

describe("a mute", () => {
  it("takes the alerts of its failure away and counts them; other failures are told", async () => {
    const accountId = uuid();
    await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
      accountId,
      `${uuid()}@example.com`,
    ]);
    await createChannel(pool, accountId, { kind: "webhook", to: "https://example.com/hook" });
    const muted = [await addFailure(accountId, "loud"), await addFailure(accountId, "loud")];
    const other = await addFailure(accountId, "other");
    const [failure] = await readTraceFailures(pool, accountId, [muted[0]?.traceId ?? ""]);
    await createMute(pool, accountId, { failureId: failure?.id ?? "", now: new Date() });
    await routeAlerts(pool, { accountId, limits: { perHour: 100, pending: 100 }, isStopping: () => false });
    const told = "SELECT event_id FROM delivery WHERE account_id = $1 AND channel_id";
    for (const channels of ["= account_id", "<> account_id"]) {
      const { rows: deliveries } = await pool.query(`${told} ${channels}`, [accountId]);
      expect(deliveries).toEqual([{ event_id: other.alertId }]);
    }
    const { rows: alerts } = await pool.query(
      "SELECT id FROM alert WHERE account_id = $1 AND sent_at IS NOT NULL AND last_error = 'Muted' ORDER BY id",
      [accountId],
    );
    expect(alerts.map(({ id }) => id)).toEqual(muted.map(({ alertId }) => alertId));
    expect(await listMutes(pool, accountId)).toMatchObject([{ id: failure?.id, agent_id: "loud", muted: 2 }]);
  });

  it.each(["x", "\0", ""])("is refused of a failure %j, which no account has", async (failureId) => {
    const refused = createMute(pool, uuid(), { failureId, now: new Date() });
    await expect(refused).rejects.toMatchObject({ code: "failure_not_found" });
  });

  it("is refused above 1,000 of an account, and may be set anew", async () => {
    const accountId = uuid();
    await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
      accountId,
      `${uuid()}@example.com`,
    ]);
    const [first, second] = [await addFailure(accountId, "a"), await addFailure(accountId, "b")];
    const failures = await readTraceFailures(pool, accountId, [first.traceId, second.traceId]);
    const [one = "", other = ""] = failures.map(({ id }) => id);
    const now = new Date();
    await pool.query(
      `INSERT INTO mute (account_id, failure_id) SELECT $1, gen_random_uuid() FROM generate_series(1, 999)`,
      [accountId],
    );
    await createMute(pool, accountId, { failureId: one, now });
    const full = { details: { limit: 1_000, reason: "An account has at most 1000 mutes." } };
    await expect(createMute(pool, accountId, { failureId: other, now })).rejects.toMatchObject(full);
    await createMute(pool, accountId, { failureId: one, now });
  });
});
