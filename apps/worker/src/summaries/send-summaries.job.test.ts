import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { makeSummary } from "@waymark/alerts";
import type { Delivery, Mail } from "@waymark/alerts/mail";
import { useDatabase } from "@waymark/testing";
import { createTestLog, makeFailedTrace, makeMoreAlerts } from "../worker.fixture.js";
import { createSendSummaries } from "./send-summaries.job.js";

const database = useDatabase();
beforeEach(() => database.pool.query("TRUNCATE alert, alert_summary"));

function setUp(deliveries: Delivery[] = []) {
  const mails: Mail[] = [];
  const counts: string[] = [];
  const { log, lines } = createTestLog();
  const mailer = {
    send: async (mail: Mail) => {
      mails.push(mail);
      return deliveries.shift() ?? ({ outcome: "sent" } as const);
    },
  };
  const round = createSendSummaries({
    pool: database.pool,
    mailer,
    log,
    limits: { perTrace: 3, perAccount: 20 },
    dashboardUrl: "https://waymark.example",
    count: (outcome) => void counts.push(outcome),
    isStopping: () => false,
  });
  return { round, mails, counts, lines };
}

const hold = (accountId: string, until: string) =>
  database.pool.query("UPDATE alert SET held_until = now() + $2::interval WHERE account_id = $1 AND sent_at IS NULL", [
    accountId,
    until,
  ]);

async function statesOf(accountId: string) {
  const { rows } = await database.pool.query(
    `SELECT count(*)::int AS alerts, count(sent_at)::int AS sent, count(failed_at)::int AS failed,
       count(summary_id)::int AS listed, count(DISTINCT summary_id)::int AS summaries FROM alert WHERE account_id = $1`,
    [accountId],
  );
  return rows[0];
}

/** An account with so many held alerts of traces. */
async function makeHeld(count: number) {
  const trace = await makeFailedTrace(database.pool);
  const more = await makeMoreAlerts(database.pool, {
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
    const { round, mails, counts } = setUp();
    await hold(accountId, "1 minute");
    await round();
    expect(mails).toEqual([]);
    await hold(accountId, "-1 second");
    expect(await round()).toEqual({ sent: 1 });
    expect(await round()).toEqual({ sent: 0 });
    expect(mails).toHaveLength(1);
    const [mail] = mails;
    expect(mail).toMatchObject({ to: email, subject: "31 more failed traces" });
    expect(mail?.text).toMatch(/billing-bot: 30 traces\n +support-bot: 1 trace\n/);
    expect(mail?.text).toContain("“trace 30” of billing-bot: error");
    expect(mail?.text).toContain("… and 11 more.");
    expect(mail?.text.match(/https:\/\/waymark\.example\/dashboard\/traces\/[0-9a-f-]{36}/g)).toHaveLength(20);
    expect(mail?.html).toContain("<li>billing-bot: 30 traces</li>");
    expect(await statesOf(accountId)).toEqual({ alerts: 31, sent: 31, failed: 0, listed: 31, summaries: 1 });
    expect(counts).toEqual(["sent"]);
  });

  it("counts the failures of a trace whose status was toggled", async () => {
    const { accountId } = await makeHeld(2);
    await database.pool.query("UPDATE alert SET failures = 191 WHERE account_id = $1", [accountId]);
    const { round, mails } = setUp();
    await round();
    expect(mails[0]?.text).toContain("2 more traces failed, 382 times in all");
    expect(mails[0]?.text).toMatch(/“trace 1” of billing-bot: error, 191 failures/);
  });

  it("comes once an hour at most: the next one lists what is held meanwhile", async () => {
    const { accountId } = await makeHeld(2);
    const { round, mails } = setUp();
    await round();
    await makeMoreAlerts(database.pool, { accountId, count: 3 });
    await hold(accountId, "-1 second");
    await round();
    expect(mails).toHaveLength(1);
    await database.pool.query("UPDATE alert_summary SET created_at = now() - interval '61 minutes'");
    await round();
    expect(mails.map(({ subject }) => subject)).toEqual(["2 more failed traces", "3 more failed traces"]);
    expect(await statesOf(accountId)).toEqual({ alerts: 5, sent: 5, failed: 0, listed: 5, summaries: 2 });
  });

  it("is made once an hour also where another worker found the account ready before", async () => {
    const { accountId } = await makeHeld(2);
    await makeSummary(database.pool, { accountId, summaryId: randomUUID() });
    await makeMoreAlerts(database.pool, { accountId, count: 1 });
    await hold(accountId, "-1 second");
    await makeSummary(database.pool, { accountId, summaryId: randomUUID() });
    expect(await statesOf(accountId)).toMatchObject({ alerts: 3, listed: 2, summaries: 1 });
  });

  it("lists 20,000 alerts at most, those held first; the next one lists the others", async () => {
    const { accountId, alertId } = await makeHeld(1);
    // With statistics of other accounts only, a join to the batch would take minutes.
    await database.pool.query("ANALYZE alert");
    await makeMoreAlerts(database.pool, { accountId, count: 20_000 });
    await hold(accountId, "-1 minute");
    await database.pool.query("UPDATE alert SET held_until = now() WHERE id = $1", [alertId]);
    const { round, mails } = setUp();
    await round();
    const { rows } = await database.pool.query("SELECT id FROM alert WHERE sent_at IS NULL");
    expect(rows).toEqual([{ id: alertId }]);
    await database.pool.query("UPDATE alert_summary SET created_at = now() - interval '61 minutes'");
    await round();
    expect(mails.map(({ subject }) => subject)).toEqual(["20,000 more failed traces", "1 more failed trace"]);
  });

  it("that cannot be made holds up no other account's", async () => {
    const broken = await makeHeld(2);
    const others = [await makeHeld(2), await makeHeld(2)];
    await database.pool.query(
      `ALTER TABLE alert_summary ADD CONSTRAINT broken CHECK (account_id <> '${broken.accountId}')`,
    );
    const { round, mails, lines } = setUp();
    try {
      expect(await round()).toEqual({ sent: 2 });
    } finally {
      await database.pool.query("ALTER TABLE alert_summary DROP CONSTRAINT broken");
    }
    expect(mails.map(({ to }) => to).sort()).toEqual(others.map(({ email }) => email).sort());
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, accountId: broken.accountId }));
    await round();
    expect(await statesOf(broken.accountId)).toMatchObject({ sent: 2 });
  });

  it("is tried again with one idempotency key, and its alerts are sent only when it is", async () => {
    const { accountId } = await makeHeld(3);
    const { round, mails, counts } = setUp([{ outcome: "deferred", reason: "Resend answered 500" }]);
    await round();
    expect(await statesOf(accountId)).toMatchObject({ sent: 0, listed: 3 });
    await round();
    expect(mails).toHaveLength(1);
    await database.pool.query("UPDATE alert_summary SET due_at = now()");
    await round();
    expect(new Set(mails.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(await statesOf(accountId)).toMatchObject({ sent: 3 });
    expect(counts).toEqual(["deferred", "sent"]);
  });

  it("that is refused leaves its alerts failed, with the reason, and an error in the log", async () => {
    const { accountId } = await makeHeld(3);
    const { round, lines } = setUp([{ outcome: "refused", reason: "Resend answered 422" }]);
    await round();
    expect(await statesOf(accountId)).toMatchObject({ sent: 0, failed: 3 });
    const { rows } = await database.pool.query("SELECT DISTINCT last_error FROM alert");
    expect(rows).toEqual([{ last_error: "Resend answered 422" }]);
    expect(lines.at(-1)).toMatchObject({ level: 50, msg: "summary given up" });
  });

  it("is sent once by several workers at once", async () => {
    for (let i = 0; i < 5; i++) await makeHeld(4);
    const { round, mails } = setUp();
    const { round: other, mails: others } = setUp();
    await Promise.all([round(), other(), round(), other()]);
    expect(mails.length + others.length).toBe(5);
    expect(new Set([...mails, ...others].map(({ to }) => to)).size).toBe(5);
  });

  it("sends nothing for traces that were deleted, or for an account that is gone", async () => {
    const [deleted, gone] = [await makeHeld(2), await makeHeld(2)];
    await database.pool.query("DELETE FROM trace WHERE account_id = $1", [deleted.accountId]);
    await database.pool.query("DELETE FROM account WHERE id = $1", [gone.accountId]);
    const { round, mails } = setUp();
    await round();
    expect(mails).toEqual([]);
    expect(await statesOf(deleted.accountId)).toMatchObject({ failed: 2 });
    expect(await statesOf(gone.accountId)).toMatchObject({ failed: 2 });
  });

  it("shows what clients wrote as text, on its line", async () => {
    const { accountId } = await makeHeld(1);
    await database.pool.query("UPDATE trace SET name = $2, agent_id = '<b>' WHERE account_id = $1", [
      accountId,
      "<img src=x>\r\nBcc: someone@example.com",
    ]);
    const { round, mails } = setUp();
    await round();
    expect(mails[0]?.html).not.toMatch(/<img|<b>/);
    expect(mails[0]?.text).not.toMatch(/^Bcc/m);
  });
});
