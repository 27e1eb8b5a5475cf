import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { listAlerts, retryAlert } from "./list-alerts.query.js";
import { measureAlerts } from "./measure-alerts.query.js";

const uuid = createUuidV7();
const { pool } = useDatabase();

async function makeAlert(accountId: string, columns: Record<string, string> = {}): Promise<string> {
  const id = uuid();
  const names = Object.keys(columns).map((name) => `, ${name}`);
  const values = Object.values(columns).map((value) => `, ${value}`);
  await pool.query(
    `INSERT INTO alert (account_id, id, trace_id, status${names.join("")}) VALUES ($1, $2, $2, 'error'${values.join("")})`,
    [accountId, id],
  );
  return id;
}

describe("the list of an account's alerts", () => {
  it("is newest first and names each state; with `failed` it has the failed ones alone", async () => {
    const accountId = uuid();
    const pending = await makeAlert(accountId);
    const held = await makeAlert(accountId, { held_until: "now()" });
    const failed = await makeAlert(accountId, { failed_at: "now()", last_error: "'bounced'" });
    const sent = await makeAlert(accountId, { sent_at: "'2026-01-31T12:00:00Z'", held_until: "now()" });
    await makeAlert(uuid());
    const states = (await listAlerts(pool, { accountId, failed: false, limit: 10 })).map(({ id, state }) => [
      id,
      state,
    ]);
    expect(states).toEqual([
      [sent, "sent"],
      [failed, "failed"],
      [held, "held"],
      [pending, "pending"],
    ]);
    expect(await listAlerts(pool, { accountId, failed: true, limit: 10 })).toMatchObject([
      { id: failed, last_error: "bounced", failed_at: expect.stringMatching(/Z$/) },
    ]);
    expect(await listAlerts(pool, { accountId, failed: false, limit: 1 })).toMatchObject([
      { id: sent, sent_at: "2026-01-31T12:00:00.000Z" },
    ]);
  });
});

describe("a retry", () => {
  it("makes a failed or held alert pending as on its first day", async () => {
    const ids = [
      await makeAlert(uuid(), {
        failed_at: "now()",
        attempts: "20",
        due_at: "now() + interval '1 hour'",
      }),
      await makeAlert(uuid(), { held_until: "now()" }),
    ];
    for (const id of ids) {
      expect(await retryAlert(pool, id)).toMatchObject({ id, state: "pending", attempts: 0, failed_at: null });
      const { rows } = await pool.query("SELECT due_at <= now() AS is_due FROM alert WHERE id = $1", [id]);
      expect(rows).toEqual([{ is_due: true }]);
    }
  });

  it("of a routed alert makes its mail anew", async () => {
    const accountId = uuid();
    const id = await makeAlert(accountId, { routed_at: "now()", failed_at: "now()" });
    const other = await makeAlert(accountId, { routed_at: "now()", held_until: "now()" });
    await pool.query(
      `INSERT INTO delivery (account_id, event_id, channel_id, type, begun_at, failed_at, attempts)
       VALUES ($1, $2, $1, 'trace.failed', now(), now(), 9)`,
      [accountId, id],
    );
    for (const alertId of [id, other]) await retryAlert(pool, alertId, accountId);
    const { rows } = await pool.query(
      `SELECT event_id, attempts, begun_at, failed_at, due_at <= now() AS is_due FROM delivery
       WHERE account_id = $1 AND channel_id = $1 AND type = 'trace.failed' ORDER BY event_id`,
      [accountId],
    );
    const fresh = { attempts: 0, begun_at: null, failed_at: null, is_due: true };
    expect(rows).toEqual([
      { event_id: id, ...fresh },
      { event_id: other, ...fresh },
    ]);
  });

  it("leaves a sent alert alone, and one of a summary on its way", async () => {
    const sent = await makeAlert(uuid(), { sent_at: "now()" });
    const listed = await makeAlert(uuid(), { held_until: "now()", summary_id: "gen_random_uuid()" });
    expect(await retryAlert(pool, sent)).toMatchObject({ state: "sent" });
    expect(await retryAlert(pool, listed)).toMatchObject({ state: "held", summary_id: expect.any(String) });
    expect(await retryAlert(pool, uuid())).toBeUndefined();
  });
});

describe("the figures of pending alerts", () => {
  it("are zero without any, and keep alerts apart that wait for a summary", async () => {
    await pool.query("TRUNCATE alert, delivery");
    await makeAlert(uuid(), { sent_at: "now()", held_until: "now()", created_at: "now() - interval '1 day'" });
    expect(await measureAlerts(pool)).toEqual({ pending: 0, oldestSeconds: 0, oldestHeldSeconds: 0 });
    await makeAlert(uuid(), { created_at: "now() - interval '100 seconds'" });
    await makeAlert(uuid(), { held_until: "now()", created_at: "now() - interval '2 hours'" });
    const figures = await measureAlerts(pool);
    expect([
      figures.pending,
      Math.floor(figures.oldestSeconds / 100),
      Math.floor(figures.oldestHeldSeconds / 7_200),
    ]).toEqual([1, 1, 1]);
  });

  it("count an unsent summary as held", async () => {
    await pool.query("TRUNCATE alert, delivery");
    await pool.query(
      `INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, begun_at)
       VALUES ($1, $1, $1, 'digest', '', now() - interval '1 hour')`,
      [uuid()],
    );
    expect(Math.floor((await measureAlerts(pool)).oldestHeldSeconds / 3_600)).toBe(1);
  });
});
