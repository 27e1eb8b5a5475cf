import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { queueAlerts } from "./queue-alerts.js";

const uuid = createUuidV7();

describe("queueAlerts", () => {
  const { pool } = useDatabase();
  const queue = { add: async () => undefined };

  async function makePendingAlert(columns: { sentAt?: Date } = {}) {
    const alert = { accountId: uuid(), alertId: uuid() };
    await pool.query("INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $3, 'error', $4)", [
      alert.accountId,
      alert.alertId,
      uuid(),
      columns.sentAt,
    ]);
    return alert;
  }
  async function queuedAt(alert: { alertId: string }): Promise<Date | null> {
    const { rows } = await pool.query("SELECT queued_at FROM alert WHERE id = $1", [alert.alertId]);
    return rows[0].queued_at;
  }

  it("notes when an alert was queued, and touches no other", async () => {
    const [alert, other] = [await makePendingAlert(), await makePendingAlert()];
    await queueAlerts({ pool, queue }, [alert]);
    expect(await queuedAt(alert)).toBeInstanceOf(Date);
    expect(await queuedAt(other)).toBeNull();
  });

  it("leaves an alert as it is that was sent meanwhile", async () => {
    const alert = await makePendingAlert({ sentAt: new Date() });
    await queueAlerts({ pool, queue }, [alert]);
    expect(await queuedAt(alert)).toBeNull();
  });

  it("rejects and notes nothing when the queue does not take the alert", async () => {
    const alert = await makePendingAlert();
    const down = { add: () => Promise.reject(new Error("down")) };
    await expect(queueAlerts({ pool, queue: down }, [alert])).rejects.toThrow("down");
    expect(await queuedAt(alert)).toBeNull();
  });

  it("queues many by one addition, and adds nothing where there is nothing", async () => {
    const additions: number[] = [];
    const counting = { add: async (alerts: readonly unknown[]) => void additions.push(alerts.length) };
    const alerts = await Promise.all(Array.from({ length: 30 }, () => makePendingAlert()));
    await queueAlerts({ pool, queue: counting }, alerts);
    await queueAlerts({ pool, queue: counting }, []);
    expect(additions).toEqual([30]);
    for (const alert of alerts) expect(await queuedAt(alert)).toBeInstanceOf(Date);
  });

  it("waits for nobody who has an alert locked", async () => {
    const [locked, free] = [await makePendingAlert(), await makePendingAlert()];
    const holder = await pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT FROM alert WHERE id = $1 FOR UPDATE", [locked.alertId]);
    await queueAlerts({ pool, queue }, [locked, free]);
    await holder.query("ROLLBACK");
    holder.release();
    expect([await queuedAt(locked), await queuedAt(free)]).toEqual([null, expect.any(Date)]);
  });
});
