import { beforeEach, describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import type { Delivery, Mail } from "@waymark/alerts/mail";
import type { JobOutcome } from "@waymark/service/queue";
import { useDatabase } from "@waymark/testing";
import { createTestLog, makeFailedTrace, makeMoreAlerts, readAlert } from "../worker.fixture.js";
import { createSendAlert } from "./send-alert.js";
import { createSendNextAlert } from "./send-next-alert.job.js";
import { createSweepAlerts } from "./sweep-alerts.job.js";

const database = useDatabase();
// A turn goes round all accounts, so each test starts with no alerts but its own.
beforeEach(() => database.pool.query("TRUNCATE alert"));

function setUp({ perTrace = 3, perAccount = 20, deliveries = [] as Delivery[] } = {}) {
  const mails: Mail[] = [];
  const { log, lines } = createTestLog();
  const { pool } = database;
  const mailer = {
    send: async (mail: Mail) => {
      mails.push(mail);
      return deliveries.shift() ?? ({ outcome: "sent" } as const);
    },
  };
  const counts = { held: 0 };
  let isStopping = false;
  const stop = () => {
    isStopping = true;
  };
  const startWorker = () =>
    createSendNextAlert({
      pool,
      limits: { perTrace, perAccount },
      log,
      send: createSendAlert({ pool, mailer, log, dashboardUrl: "", count: () => undefined }),
      countHeld: (alerts) => {
        counts.held += alerts;
      },
      isStopping: () => isStopping,
    });
  return { take: startWorker(), startWorker, stop, mails, lines, counts };
}

/** Runs the jobs of alerts in order. */
async function runAll(take: (alert: AlertKey) => Promise<JobOutcome>, alerts: readonly AlertKey[]) {
  const outcomes: JobOutcome[] = [];
  for (const alert of alerts) outcomes.push(await take(alert));
  return outcomes;
}

async function heldOf(accountId: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT count(*)::int AS n FROM alert WHERE account_id = $1
     AND held_until BETWEEN now() + interval '50 minutes' AND now() + interval '1 hour' AND sent_at IS NULL`,
    [accountId],
  );
  return rows[0].n;
}

describe("whose turn it is", () => {
  it("goes round the accounts: one mail of a second tenant is among the first three, behind 500 of the first", async () => {
    const busy = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    const many = await makeMoreAlerts(database.pool, { accountId: busy.accountId, count: 499 });
    const quiet = await makeFailedTrace(database.pool);
    const { take, mails } = setUp({ perAccount: 10_000 });
    await runAll(take, [busy, ...many.slice(0, 2)]);
    expect(mails.slice(0, 3).map(({ to }) => to)).toContain(quiet.email);
  });

  it("sends every mail with as many jobs as alerts, whichever job sends which", async () => {
    const traces = await Promise.all(Array.from({ length: 6 }, () => makeFailedTrace(database.pool)));
    const { take, mails } = setUp();
    await Promise.all(traces.map((trace) => take(trace)));
    expect(mails.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual(
      traces.map((trace) => trace.alertId).sort(),
    );
  });

  it("tries again after the time that the mail service asked for, and no sooner", async () => {
    const trace = await makeFailedTrace(database.pool);
    const deferred: Delivery = { outcome: "deferred", reason: "Resend answered 500", retryAfterMs: 60_000 };
    const { take, mails } = setUp({ deliveries: [deferred] });
    expect(await take(trace)).toEqual({ retryAfterMs: 60_000 });
    const again = await take(trace);
    expect(again === "done" ? 0 : again.retryAfterMs).toBeGreaterThan(50_000);
    expect(mails).toHaveLength(1);
    await database.pool.query("UPDATE alert SET due_at = now()");
    expect(await take(trace)).toBe("done");
    expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toEqual([trace.alertId, trace.alertId]);
  });

  it("leaves an alert alone that another worker has in hand, and takes it over after half a minute", async () => {
    const trace = await makeFailedTrace(database.pool);
    await database.pool.query("UPDATE alert SET allowed_at = now(), due_at = now() + interval '30 seconds'");
    const { take, mails } = setUp();
    const outcome = await take(trace);
    expect(outcome === "done" ? 0 : outcome.retryAfterMs).toBeGreaterThan(20_000);
    await database.pool.query("UPDATE alert SET due_at = due_at - interval '30 seconds'");
    expect(await take(trace)).toBe("done");
    expect(mails).toHaveLength(1);
  });

  it("sends its own alert after those whose jobs the queue has lost", async () => {
    const lost = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    const more = await makeMoreAlerts(database.pool, { accountId: lost.accountId, count: 2 });
    const trace = await makeFailedTrace(database.pool);
    const { take, mails } = setUp();
    for (const alert of [trace, more[1] ?? trace]) expect(await take(alert)).toBe("done");
    expect(mails.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual(
      [lost, ...more, trace].map(({ alertId }) => alertId).sort(),
    );
  });

  it("keeps its job while its own alert is locked", async () => {
    const [first, second] = [await makeFailedTrace(database.pool), await makeFailedTrace(database.pool)];
    const { take, mails } = setUp();
    const client = await database.pool.connect();
    try {
      // As the note that alerts are queued does for a moment.
      await client.query("BEGIN");
      await client.query("SELECT FROM alert WHERE id = $1 FOR NO KEY UPDATE", [first.alertId]);
      expect(await take(first)).toEqual({ retryAfterMs: 1_000 });
      expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toEqual([second.alertId]);
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
    expect(await take(first)).toBe("done");
    expect(mails).toHaveLength(2);
  });

  it("puts its job back after the mail in hand when the worker stops", async () => {
    const [first, second] = [await makeFailedTrace(database.pool), await makeFailedTrace(database.pool)];
    const { take, mails, stop } = setUp();
    stop();
    expect(await take(second)).toEqual({ retryAfterMs: 1_000 });
    expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toEqual([first.alertId]);
  });

  it("does not wait for who locks the account's row", async () => {
    const trace = await makeFailedTrace(database.pool);
    const { take, mails } = setUp();
    const client = await database.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [trace.accountId]);
      expect(await take(trace)).toBe("done");
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
    expect(mails).toHaveLength(1);
  });

  it("settles the alert of an account that was removed by SQL, so that nothing queues it again", async () => {
    const trace = await makeFailedTrace(database.pool, { ageSeconds: 600, queuedSecondsAgo: 400 });
    await database.pool.query("DELETE FROM account WHERE id = $1", [trace.accountId]);
    const { take, mails, lines } = setUp();
    expect(await take(trace)).toBe("done");
    expect(mails).toEqual([]);
    expect(await readAlert(database.pool, trace)).toMatchObject({ hasFailed: true, last_error: "The account is gone" });
    expect(lines.some(({ level }) => level > 30)).toBe(false);
    const queue = { add: async () => undefined, hurry: async () => undefined };
    expect(await createSweepAlerts({ pool: database.pool, queue, log: createTestLog().log })()).toEqual({ queued: 0 });
  });
});

describe("the limits of mails", () => {
  it("let an account have 20 mails an hour, and keep back the others without losing one", async () => {
    const trace = await makeFailedTrace(database.pool);
    const more = await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 49 });
    const { take, mails, counts } = setUp();
    expect(new Set(await runAll(take, [trace, ...more]))).toEqual(new Set(["done"]));
    expect(mails).toHaveLength(20);
    expect(await heldOf(trace.accountId)).toBe(30);
    expect(counts.held).toBe(30);
  });

  it("open again an hour after the mail that filled them", async () => {
    const trace = await makeFailedTrace(database.pool);
    const { take, mails } = setUp({ perAccount: 1 });
    await take(trace);
    await database.pool.query("UPDATE alert SET allowed_at = allowed_at - interval '61 minutes'");
    await runAll(take, await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 2 }));
    expect(mails).toHaveLength(2);
    expect(await heldOf(trace.accountId)).toBe(1);
  });

  it("let a trace have 3 mails an hour, and leave the account's other traces theirs", async () => {
    const { accountId, traceId } = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    await makeMoreAlerts(database.pool, { accountId, traceId, count: 9 });
    const other = await makeMoreAlerts(database.pool, { accountId, count: 2 });
    const { take, mails } = setUp();
    for (let i = 0; i < 12; i++) await take({ accountId, alertId: other[0]?.alertId ?? "" });
    expect(mails).toHaveLength(3 + 2);
    expect(await heldOf(accountId)).toBe(7);
  });

  it("hold exactly with several workers at once", async () => {
    const trace = await makeFailedTrace(database.pool);
    const more = await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 59 });
    const { startWorker, mails } = setUp();
    const workers = [startWorker(), startWorker(), startWorker()];
    await Promise.all([trace, ...more].map((alert, n) => workers[n % 3]?.(alert)));
    expect(mails).toHaveLength(20);
  });

  it("ask anew for a mail that is tried again after more than an hour, so an outage is not followed by a flood", async () => {
    const first = await makeFailedTrace(database.pool);
    const { accountId } = first;
    const late = await makeMoreAlerts(database.pool, { accountId, count: 29 });
    await database.pool.query("UPDATE alert SET allowed_at = now() - interval '3 hours', attempts = 9");
    const { take, mails } = setUp();
    await runAll(take, [first, ...late]);
    expect(mails).toHaveLength(20);
    expect(await heldOf(accountId)).toBe(10);
  });

  it("do not ask anew for a mail that is tried again within the hour", async () => {
    const trace = await makeFailedTrace(database.pool);
    const { take, mails } = setUp({ perAccount: 1, deliveries: [{ outcome: "deferred", reason: "no" }] });
    await take(trace);
    await runAll(take, await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 1 }));
    await database.pool.query("UPDATE alert SET due_at = now()");
    expect(await take(trace)).toBe("done");
    expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toEqual([trace.alertId, trace.alertId]);
  });
});
