import { expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { measureAlerts } from "./measure-alerts.query.js";

const { pool } = useDatabase();
const uuid = createUuidV7();
const accountId = uuid();

/** Adds an alert of some seconds ago. */
async function add(ageSeconds: number, columns: Record<string, unknown> = {}): Promise<void> {
  const values = { account_id: accountId, id: uuid(), trace_id: uuid(), status: "error", ...columns };
  const names = Object.keys(values);
  await pool.query(
    `INSERT INTO alert (created_at, ${names}) VALUES (now() - $1 * interval '1 second', ${names.map((_, n) => `$${n + 2}`)})`,
    [ageSeconds, ...Object.values(values)],
  );
}

const addSummary = (ageSeconds: number, sentAt: Date | null) =>
  pool.query(
    `INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, begun_at, sent_at)
     VALUES ($1, $2, $1, 'digest', '', now() - $3 * interval '1 second', $4)`,
    [accountId, uuid(), ageSeconds, sentAt],
  );

it("counts pending alerts, and knows the oldest of them, and the oldest that is held or in an unsent summary", async () => {
  const measure = async () => {
    const { pending, oldestSeconds, oldestHeldSeconds } = await measureAlerts(pool);
    return [pending, Math.floor(oldestSeconds / 100), Math.floor(oldestHeldSeconds / 100)];
  };
  expect(await measure()).toEqual([0, 0, 0]);
  const [now, later] = [new Date(), new Date(Date.now() + 3_600_000)];
  await add(9_000, { sent_at: now });
  await add(9_000, { failed_at: now });
  await add(9_000, { held_until: later, sent_at: now });
  await add(9_000, { held_until: later, failed_at: now });
  await addSummary(9_000, now);
  expect(await measure()).toEqual([0, 0, 0]);
  await add(500);
  await add(700);
  await add(1_100, { held_until: later });
  await add(1_300, { held_until: later });
  await add(9_000, { held_until: later, summary_id: uuid() });
  expect(await measure()).toEqual([2, 7, 13]);
  await addSummary(1_700, null);
  expect(await measure()).toEqual([2, 7, 17]);
});
