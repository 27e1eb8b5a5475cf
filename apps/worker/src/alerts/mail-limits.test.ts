import { beforeEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { makeFailedTrace, makeMoreAlerts, readAlert, until } from "../worker.fixture.js";
import { openOwnMails, passPauses } from "./own-mails.fixture.js";

const { pool } = useDatabase();
// A turn goes round all accounts, so each test starts with no alerts but its own.
beforeEach(() => pool.query("TRUNCATE alert, delivery"));

const keysOf = (mails: readonly { idempotencyKey: string }[]) => mails.map(({ idempotencyKey }) => idempotencyKey);
const idsOf = (alerts: readonly { alertId: string }[]) => alerts.map(({ alertId }) => alertId);

async function heldOf(accountId: string): Promise<number> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS n FROM alert WHERE account_id = $1
     AND held_until BETWEEN now() + interval '50 minutes' AND now() + interval '1 hour' AND sent_at IS NULL`,
    [accountId],
  );
  return rows[0].n;
}

/** Works while another session has rows locked. */
async function whileLocked(sql: string, values: unknown[], work: () => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query(sql, values);
    await work();
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}

describe("whose turn it is", () => {
  it("goes round the accounts: one mail of a second tenant is among the first three, behind 500 of the first", async () => {
    const busy = await makeFailedTrace(pool, { ageSeconds: 60 });
    await makeMoreAlerts(pool, { accountId: busy.accountId, count: 499 });
    const quiet = await makeFailedTrace(pool);
    const { round, mails } = openOwnMails(pool, { perAccount: 10_000, stopAfter: 10 });
    await round();
    expect(mails.slice(0, 3).map(({ to }) => to)).toContain(quiet.email);
  });

  it("sends every mail once, with its alert's id as key", async () => {
    const traces = await Promise.all(Array.from({ length: 6 }, () => makeFailedTrace(pool)));
    const { round, startWorker, mails } = openOwnMails(pool);
    await Promise.all([round(), startWorker()()]);
    expect(keysOf(mails).sort()).toEqual(idsOf(traces).sort());
  });

  it("tries again after the time that the mail service asked for, and no sooner", async () => {
    const trace = await makeFailedTrace(pool);
    const answers = [{ outcome: "deferred", reason: "Resend answered 500", retryAfterMs: 60_000 } as const];
    const { round, mails } = openOwnMails(pool, { answers });
    await round();
    await round();
    expect(mails).toHaveLength(1);
    const [waitMs] = await passPauses(pool);
    expect(waitMs).toBeGreaterThan(50_000);
    await round();
    expect(keysOf(mails)).toEqual([trace.alertId, trace.alertId]);
  });

  it("leaves an alert alone that another worker has in hand, and takes it over after half a minute", async () => {
    const trace = await makeFailedTrace(pool);
    const hanging = openOwnMails(pool, { hangs: true });
    await hanging.route();
    await hanging.start();
    await until(() => hanging.mails.length === 1);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails).toEqual([]);
    await pool.query("UPDATE delivery SET due_at = due_at - interval '20 seconds'");
    await round();
    expect(mails).toEqual([]);
    await pool.query("UPDATE delivery SET due_at = due_at - interval '10 seconds'");
    await round();
    expect(keysOf(mails)).toEqual([trace.alertId]);
  });

  it("sends with one job also the account's alerts whose jobs the queue has lost, and by the sweep all others", async () => {
    const lost = await makeFailedTrace(pool, { ageSeconds: 400 });
    const trace = await makeFailedTrace(pool, { ageSeconds: 60 });
    const more = await makeMoreAlerts(pool, { accountId: trace.accountId, count: 2 });
    const { round, mails } = openOwnMails(pool);
    await round(trace.accountId);
    expect(keysOf(mails).sort()).toEqual(idsOf([trace, ...more]).sort());
    await round();
    expect(keysOf(mails.slice(3))).toEqual([lost.alertId]);
  });

  it("comes back to an alert that somebody has locked, and goes on with the others meanwhile", async () => {
    const [first, second] = [await makeFailedTrace(pool), await makeFailedTrace(pool)];
    await openOwnMails(pool, { stopAfter: 0 }).route();
    const { round, mails } = openOwnMails(pool);
    // As a count of further failures does for a moment.
    await whileLocked("SELECT FROM alert WHERE id = $1 FOR NO KEY UPDATE", [first.alertId], async () => {
      await round();
      expect(keysOf(mails)).toEqual([second.alertId]);
    });
    await passPauses(pool);
    await round();
    expect(keysOf(mails)).toEqual([second.alertId, first.alertId]);
  });

  it("begins no mail while the worker stops, and leaves them to the next one", async () => {
    const traces = [await makeFailedTrace(pool), await makeFailedTrace(pool)];
    const stopping = openOwnMails(pool, { stopAfter: 0 });
    await stopping.route();
    await stopping.start();
    expect(stopping.mails).toEqual([]);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(keysOf(mails).sort()).toEqual(idsOf(traces).sort());
  });

  it("does not wait for who locks the account's row", async () => {
    const { accountId } = await makeFailedTrace(pool);
    const { round, mails } = openOwnMails(pool);
    await whileLocked("SELECT FROM account WHERE id = $1 FOR UPDATE", [accountId], () => round());
    expect(mails).toHaveLength(1);
  });

  it("settles the alert of an account that was removed by SQL, so that nothing takes it again", async () => {
    const trace = await makeFailedTrace(pool, { ageSeconds: 600 });
    await pool.query("DELETE FROM account WHERE id = $1", [trace.accountId]);
    const { round, route, mails, lines, counts } = openOwnMails(pool);
    await round();
    expect(mails).toEqual([]);
    expect(await readAlert(pool, trace)).toMatchObject({ hasFailed: true, last_error: "The account is gone" });
    expect(lines.some(({ level }) => level > 30)).toBe(false);
    expect(counts).toEqual([]);
    expect(await route()).toBe(0);
  });

  it("passes over an account whose mails cannot be claimed", async () => {
    const traces = [await makeFailedTrace(pool), await makeFailedTrace(pool), await makeFailedTrace(pool)] as const;
    const broken = traces[1].accountId;
    await pool.query(
      `ALTER TABLE delivery ADD CONSTRAINT broken CHECK (account_id <> '${broken}' OR begun_at IS NULL)`,
    );
    const { start, drain, route, mails, lines } = openOwnMails(pool);
    try {
      await route();
      await start();
      await drain();
    } finally {
      await pool.query("ALTER TABLE delivery DROP CONSTRAINT broken");
    }
    expect(mails.map(({ to }) => to).sort()).toEqual([traces[0].email, traces[2].email].sort());
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, accountId: broken }));
    await start();
    await drain();
    expect(await readAlert(pool, traces[1])).toMatchObject({ isSent: true });
  });
});

describe("the limits of mails", () => {
  it("let an account have 20 mails an hour, and keep back the others without losing one", async () => {
    const { accountId } = await makeFailedTrace(pool);
    await makeMoreAlerts(pool, { accountId, count: 49 });
    const { round, mails, held } = openOwnMails(pool);
    await round();
    expect(mails).toHaveLength(20);
    expect(await heldOf(accountId)).toBe(30);
    expect(held.alerts).toBe(30);
  });

  it("open again an hour after the mail that filled them", async () => {
    const { accountId } = await makeFailedTrace(pool);
    const { round, mails } = openOwnMails(pool, { perAccount: 1 });
    await round();
    await pool.query("UPDATE alert SET allowed_at = allowed_at - interval '61 minutes'");
    await makeMoreAlerts(pool, { accountId, count: 2 });
    await round();
    expect(mails).toHaveLength(2);
    expect(await heldOf(accountId)).toBe(1);
  });

  it("let a trace have 3 mails an hour, and leave the account's other traces theirs", async () => {
    const { accountId, traceId } = await makeFailedTrace(pool, { ageSeconds: 60 });
    await makeMoreAlerts(pool, { accountId, traceId, count: 9 });
    const other = await makeMoreAlerts(pool, { accountId, count: 2 });
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails).toHaveLength(3 + 2);
    expect(keysOf(mails)).toEqual(expect.arrayContaining(idsOf(other)));
    expect(await heldOf(accountId)).toBe(7);
  });

  it("hold exactly with several workers at once", async () => {
    const { accountId } = await makeFailedTrace(pool);
    await makeMoreAlerts(pool, { accountId, count: 59 });
    const { startWorker, mails } = openOwnMails(pool);
    await Promise.all([startWorker()(), startWorker()(), startWorker()()]);
    expect(mails).toHaveLength(20);
    expect(new Set(keysOf(mails)).size).toBe(20);
  });

  it("ask anew for a mail that is tried again after more than an hour, so an outage is not followed by a flood", async () => {
    const { accountId } = await makeFailedTrace(pool);
    await makeMoreAlerts(pool, { accountId, count: 29 });
    const later = { outcome: "deferred", reason: "no", retryAfterMs: 600_000 } as const;
    const answers = Array.from({ length: 30 }, () => later);
    await openOwnMails(pool, { perAccount: 100, perTrace: 100, answers }).round();
    await pool.query("UPDATE alert SET allowed_at = now() - interval '3 hours'");
    await passPauses(pool);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails).toHaveLength(20);
    expect(await heldOf(accountId)).toBe(10);
  });

  it("do not ask anew for a mail that is tried again within the hour", async () => {
    const { accountId, alertId } = await makeFailedTrace(pool);
    const answers = [{ outcome: "deferred", reason: "no", retryAfterMs: 600_000 } as const];
    const { round, mails } = openOwnMails(pool, { perAccount: 1, answers });
    await round();
    await makeMoreAlerts(pool, { accountId, count: 1 });
    await round();
    await pool.query("UPDATE delivery SET due_at = now() WHERE type = 'trace.failed'");
    await round();
    expect(keysOf(mails)).toEqual([alertId, alertId]);
  });
});
