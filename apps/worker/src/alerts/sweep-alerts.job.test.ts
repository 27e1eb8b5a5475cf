import { describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import { QueueUnavailableError } from "@waymark/service/queue";
import { useDatabase } from "@waymark/testing";
import { createTestLog, makeFailedTrace, readAlert } from "../worker.fixture.js";
import { createSweepAlerts } from "./sweep-alerts.job.js";

const database = useDatabase();

function setUp(add: () => Promise<void> = () => Promise.resolve()) {
  const added: string[] = [];
  const hurried: string[] = [];
  const { log, lines } = createTestLog();
  const queue = {
    add: async (alerts: readonly AlertKey[]) => {
      await add();
      added.push(...alerts.map(({ alertId }) => alertId));
    },
    hurry: async (alerts: readonly AlertKey[]) => void hurried.push(...alerts.map(({ alertId }) => alertId)),
  };
  return { sweep: createSweepAlerts({ pool: database.pool, queue, log }), added, hurried, lines };
}

describe("the sweep", () => {
  it("queues what was never queued, after the five seconds in which the service does so itself", async () => {
    const missed = await makeFailedTrace(database.pool, { ageSeconds: 6 });
    const fresh = await makeFailedTrace(database.pool);
    const { sweep, added } = setUp();
    await sweep();
    expect(added).toContain(missed.alertId);
    expect(added).not.toContain(fresh.alertId);
    expect(await readAlert(database.pool, missed)).toMatchObject({ isQueued: true });
  });

  it("queues again what was queued over five minutes ago and is still pending", async () => {
    const lost = await makeFailedTrace(database.pool, { ageSeconds: 400, queuedSecondsAgo: 301 });
    const waiting = await makeFailedTrace(database.pool, { ageSeconds: 400, queuedSecondsAgo: 290 });
    const { sweep, added, hurried } = setUp();
    await sweep();
    expect(added).toContain(lost.alertId);
    expect(added).not.toContain(waiting.alertId);
    // Perhaps it is in the queue, put off by a worker whose clock was ahead.
    expect(hurried).toEqual(added);
  });

  it("leaves alone what is sent or failed", async () => {
    const sent = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    const failed = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    await database.pool.query("UPDATE alert SET sent_at = now() WHERE id = $1", [sent.alertId]);
    await database.pool.query("UPDATE alert SET failed_at = now() WHERE id = $1", [failed.alertId]);
    const { sweep, added } = setUp();
    await sweep();
    expect(added).not.toContain(sent.alertId);
    expect(added).not.toContain(failed.alertId);
  });

  it("stops quietly while the queue is down, and loses nothing", async () => {
    const trace = await makeFailedTrace(database.pool, { ageSeconds: 6 });
    const { sweep, lines } = setUp(async () => {
      throw new QueueUnavailableError("down");
    });
    expect(await sweep()).toEqual({ queued: 0 });
    expect(lines).toEqual([]);
    const { sweep: next, added } = setUp();
    await next();
    expect(added).toContain(trace.alertId);
  });
});
