import { describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import { createUuidV7 } from "@waymark/database";
import { createRegistry } from "@waymark/service";
import { createQueue, QueueUnavailableError, queues } from "@waymark/service/queue";
import { directUrlOf } from "@waymark/testing";
import { pino } from "pino";
import { useApp } from "../app.fixture.js";
import { createAlertQueue } from "./alert-queue.js";

const uuid = createUuidV7();
const makeAlert = () => ({ accountId: uuid(), alertId: uuid() });

function setUp(add: (alerts: readonly AlertKey[]) => Promise<void>) {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const registry = createRegistry("trace-api");
  const alerts = createAlertQueue({ queue: { add }, registry, log });
  const metric = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { alerts, lines, metric, log };
}

describe("the queue of alerts", () => {
  it("adds what comes during an addition together by the next one, 500 at most", async () => {
    const additions: number[] = [];
    const { alerts } = setUp(async (batch) => {
      additions.push(batch.length);
      await new Promise((resolve) => setImmediate(resolve));
    });
    alerts.add(makeAlert());
    await new Promise((resolve) => setTimeout(resolve));
    for (let i = 0; i < 1_200; i++) alerts.add(makeAlert());
    await alerts.idle();
    expect(additions[0]).toBe(1);
    expect(additions.reduce((sum, n) => sum + n, 0)).toBe(1_201);
    expect(additions.slice(1)).toEqual([500, 500, 200]);
  });

  it("keeps 10,000 waiting at most, and counts those that it leaves to the sweep", async () => {
    let finish = () => {};
    const { alerts, metric } = setUp(() => new Promise((resolve) => (finish = resolve)));
    alerts.add(makeAlert());
    await new Promise((resolve) => setTimeout(resolve));
    for (let i = 0; i < 10_003; i++) alerts.add(makeAlert());
    expect(await metric("waymark_alerts_to_queue")).toBe(10_000);
    expect(await metric("waymark_alerts_left_to_sweep_total")).toBe(3);
    finish();
  });

  it("leaves everything to the sweep while the queue is down, without a line for each, and goes on afterwards", async () => {
    let isDown = true;
    const taken: AlertKey[] = [];
    const { alerts, lines, metric } = setUp(async (batch) => {
      if (isDown) throw new QueueUnavailableError("down");
      taken.push(...batch);
    });
    for (let i = 0; i < 2_000; i++) alerts.add(makeAlert());
    await alerts.idle();
    expect(await metric("waymark_alerts_left_to_sweep_total")).toBe(2_000);
    expect(lines).toEqual([]);
    isDown = false;
    alerts.add(makeAlert());
    await alerts.idle();
    expect(taken).toHaveLength(1);
  });
});

describe("a burst of failed traces, with the queue in Postgres", () => {
  const test = useApp();

  it("is queued in groups: 3,000 alerts by ten additions at most, none left to the sweep, no word of an outage", async () => {
    const account = await test.makeAccount("pro");
    const pending = Array.from({ length: 3_000 }, () => ({ traceId: uuid(), alertId: uuid() }));
    await test.pool.query(
      `INSERT INTO alert (account_id, id, trace_id, status)
       SELECT $1, a, t, 'error' FROM unnest($2::uuid[], $3::uuid[]) AS r (a, t)`,
      [account.id, pending.map(({ alertId }) => alertId), pending.map(({ traceId }) => traceId)],
    );
    let additions = 0;
    const { alerts, lines, metric, log } = setUp(async (batch) => {
      additions++;
      await queue.add(batch);
    });
    const queue = createQueue(queues.traceFinalized, { databaseUrl: directUrlOf(test.databaseUrl), log });
    // Its first use makes its tables: on a busy machine that takes longer than a check may.
    while (await queue.check().catch(() => true));
    for (const { alertId } of pending) alerts.add({ accountId: account.id, alertId });
    for (const until = Date.now() + 120_000; Date.now() < until && (await metric("waymark_alerts_to_queue")); )
      await alerts.idle();
    await alerts.idle();
    expect(additions).toBeLessThanOrEqual(10);
    expect(await metric("waymark_alerts_left_to_sweep_total")).toBe(0);
    expect(lines).toEqual([]);
    await queue.close();
  });
});
