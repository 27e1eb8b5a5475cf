import { beforeEach, describe, expect, it } from "@jest/globals";
import { retryAlert } from "@waymark/alerts";
import { useDatabase } from "@waymark/testing";
import { makeFailedTrace, makeMoreAlerts } from "../worker.fixture.js";
import { openOwnMails, passPauses } from "./own-mails.fixture.js";

const { pool } = useDatabase();
beforeEach(() => pool.query("TRUNCATE alert, delivery"));

/** Holds an account's alerts until some time from now, as the limits do. */
async function hold(accountId: string, until: string): Promise<void> {
  const values = [accountId, until];
  await pool.query(
    `UPDATE alert SET held_until = now() + $2::interval, routed_at = now()
     WHERE account_id = $1 AND sent_at IS NULL AND summary_id IS NULL`,
    values,
  );
  await pool.query(
    `INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, due_at, is_collecting)
     VALUES ($1, overlay(gen_random_uuid()::text PLACING left(uuid_floor(now())::text, 13) FROM 1)::uuid, $1, 'digest', '',
       now() + $2::interval, true)
     ON CONFLICT (account_id, channel_id, agent_id) WHERE is_collecting DO UPDATE SET due_at = EXCLUDED.due_at`,
    values,
  );
}

/** Moves the account's summaries an hour into the past. */
const passHour = () =>
  pool.query(
    "UPDATE delivery SET begun_at = begun_at - interval '61 minutes', due_at = LEAST(due_at, now()) WHERE type = 'digest'",
  );

async function statesOf(accountId: string) {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS alerts, count(sent_at)::int AS sent, count(failed_at)::int AS failed,
       count(summary_id)::int AS listed, count(DISTINCT summary_id)::int AS summaries FROM alert WHERE account_id = $1`,
    [accountId],
  );
  return rows[0];
}

/** An account with so many held alerts of traces. */
async function makeHeld(count: number) {
  const trace = await makeFailedTrace(pool);
  const more = await makeMoreAlerts(pool, {
    accountId: trace.accountId,
    count: count - 1,
    agentId: "billing-bot",
  });
  await hold(trace.accountId, "-1 second");
  return { ...trace, more };
}

describe("the summary of alerts", () => {
  it("lists all of them in one mail once the limit opens again: by agent, the newest by name and id, how many more", async () => {
    const { accountId, email } = await makeHeld(31);
    const { round, mails, counts } = openOwnMails(pool);
    await hold(accountId, "1 minute");
    await round();
    expect(mails).toEqual([]);
    await hold(accountId, "-1 second");
    await round();
    await round();
    expect(mails).toHaveLength(1);
    const [mail] = mails;
    expect(mail).toMatchObject({ to: email, subject: "31 more failed traces" });
    expect(mail?.text).toMatch(/billing-bot: 30 traces\n +support-bot: 1 trace\n/);
    expect(mail?.text).toContain("“trace 30” of billing-bot: error");
    expect(mail?.text).toContain("… and 11 more.");
    expect(mail?.text.match(/https:\/\/waymark\.example\/dashboard\/traces\/[0-9a-f-]{36}/g)).toHaveLength(20);
    expect(mail?.html).toContain("<li>billing-bot: 30 traces</li>");
    expect(await statesOf(accountId)).toEqual({ alerts: 31, sent: 31, failed: 0, listed: 31, summaries: 1 });
    expect(counts).toEqual(["summary sent"]);
  });

  it("counts the failures of a trace whose status was toggled", async () => {
    const { accountId } = await makeHeld(2);
    await pool.query("UPDATE alert SET failures = 191 WHERE account_id = $1", [accountId]);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails[0]?.text).toContain("2 more traces failed, 382 times in all");
    expect(mails[0]?.text).toMatch(/“trace 1” of billing-bot: error, 191 failures/);
  });

  it("comes once an hour at most: the next one lists what is held meanwhile", async () => {
    const { accountId } = await makeHeld(2);
    const { round, mails } = openOwnMails(pool);
    await round();
    await makeMoreAlerts(pool, { accountId, count: 3 });
    await hold(accountId, "-1 second");
    await round();
    expect(mails).toHaveLength(1);
    await passHour();
    await round();
    expect(mails.map(({ subject }) => subject)).toEqual(["2 more failed traces", "3 more failed traces"]);
    expect(await statesOf(accountId)).toEqual({ alerts: 5, sent: 5, failed: 0, listed: 5, summaries: 2 });
  });

  it("comes once an hour also with several workers", async () => {
    const { accountId } = await makeHeld(2);
    const { startWorker, mails } = openOwnMails(pool);
    await Promise.all([startWorker()(), startWorker()()]);
    await makeMoreAlerts(pool, { accountId, count: 1 });
    await hold(accountId, "-1 second");
    await Promise.all([startWorker()(), startWorker()()]);
    expect(mails).toHaveLength(1);
    expect(await statesOf(accountId)).toMatchObject({ alerts: 3, listed: 2, summaries: 1 });
  });

  it("lists 20,000 alerts at most, those held first; the next one lists the others", async () => {
    const { accountId, alertId } = await makeHeld(1);
    // With statistics of other accounts only, a join to the batch would take minutes.
    await pool.query("ANALYZE alert");
    await makeMoreAlerts(pool, { accountId, count: 20_000 });
    await hold(accountId, "-1 minute");
    await pool.query("UPDATE alert SET held_until = now() WHERE id = $1", [alertId]);
    const { round, mails } = openOwnMails(pool);
    await round();
    const { rows } = await pool.query("SELECT id FROM alert WHERE sent_at IS NULL");
    expect(rows).toEqual([{ id: alertId }]);
    await passHour();
    await round();
    expect(mails.map(({ subject }) => subject)).toEqual(["20,000 more failed traces", "1 more failed trace"]);
  });

  it("that cannot be made holds up no other account's", async () => {
    const broken = await makeHeld(2);
    const others = [await makeHeld(2), await makeHeld(2)];
    await pool.query(
      `ALTER TABLE delivery ADD CONSTRAINT broken CHECK (account_id <> '${broken.accountId}' OR is_collecting)`,
    );
    const { start, drain, mails, lines } = openOwnMails(pool);
    try {
      await start();
      await drain();
    } finally {
      await pool.query("ALTER TABLE delivery DROP CONSTRAINT broken");
    }
    expect(mails.map(({ to }) => to).sort()).toEqual(others.map(({ email }) => email).sort());
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, accountId: broken.accountId }));
    await start();
    await drain();
    expect(await statesOf(broken.accountId)).toMatchObject({ sent: 2 });
  });

  it("lists no alert that was sent by itself meanwhile, and is not sent for none", async () => {
    const { accountId, alertId, more } = await makeHeld(3);
    const { round, mails } = openOwnMails(pool);
    await retryAlert(pool, alertId);
    await round();
    expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toContain(alertId);
    expect(mails.map(({ subject }) => subject)).toContain("2 more failed traces");
    expect(mails).toHaveLength(2);
    const [late] = await makeMoreAlerts(pool, { accountId, count: 1 });
    await hold(accountId, "-1 second");
    await passHour();
    await retryAlert(pool, late?.alertId ?? "");
    await round();
    expect(mails).toHaveLength(3);
    expect(await statesOf(accountId)).toMatchObject({ alerts: 4, sent: 4, listed: more.length, summaries: 1 });
    expect((await pool.query("SELECT FROM delivery WHERE is_collecting")).rowCount).toBe(0);
  });

  it("is tried again with one idempotency key, and its alerts are sent only when it is", async () => {
    const { accountId } = await makeHeld(3);
    const { round, mails, counts } = openOwnMails(pool, {
      answers: [{ outcome: "deferred", reason: "Resend answered 500" }],
    });
    await round();
    expect(await statesOf(accountId)).toMatchObject({ sent: 0, listed: 3 });
    await round();
    expect(mails).toHaveLength(1);
    await passPauses(pool);
    await round();
    expect(new Set(mails.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await statesOf(accountId)).toMatchObject({ sent: 3 });
    expect(counts).toEqual(["summary deferred", "summary sent"]);
  });

  it("that is refused leaves its alerts failed, with the reason, and an error in the log", async () => {
    const { accountId } = await makeHeld(3);
    const { round, lines } = openOwnMails(pool, { answers: [{ outcome: "refused", reason: "Resend answered 422" }] });
    await round();
    expect(await statesOf(accountId)).toMatchObject({ sent: 0, failed: 3 });
    const { rows } = await pool.query("SELECT DISTINCT last_error FROM alert");
    expect(rows).toEqual([{ last_error: "Resend answered 422" }]);
    expect(lines.at(-1)).toMatchObject({ level: 50, msg: "summary given up" });
  });

  it("is sent once by several workers at once", async () => {
    for (let i = 0; i < 5; i++) await makeHeld(4);
    const { startWorker, mails } = openOwnMails(pool);
    await Promise.all(Array.from({ length: 4 }, () => startWorker()()));
    expect(mails).toHaveLength(5);
    expect(new Set(mails.map(({ to }) => to)).size).toBe(5);
  });

  it("sends nothing for traces that were deleted, or for an account that is gone", async () => {
    const [deleted, gone] = [await makeHeld(2), await makeHeld(2)];
    await pool.query("DELETE FROM trace WHERE account_id = $1", [deleted.accountId]);
    await pool.query("DELETE FROM account WHERE id = $1", [gone.accountId]);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails).toEqual([]);
    expect(await statesOf(deleted.accountId)).toMatchObject({ failed: 2 });
    expect(await statesOf(gone.accountId)).toMatchObject({ failed: 2 });
  });

  it("shows what clients wrote as text, on its line", async () => {
    const { accountId } = await makeHeld(1);
    await pool.query("UPDATE trace SET name = $2, agent_id = '<b>' WHERE account_id = $1", [
      accountId,
      "<img src=x>\r\nBcc: someone@example.com",
    ]);
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails[0]?.html).not.toMatch(/<img|<b>/);
    expect(mails[0]?.text).not.toMatch(/^Bcc/m);
  });
});
