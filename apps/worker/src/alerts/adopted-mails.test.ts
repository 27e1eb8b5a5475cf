import { beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { type FailedTrace, makeFailedTrace, makeMoreAlerts, readAlert } from "../worker.fixture.js";
import { openOwnMails } from "./own-mails.fixture.js";

describe("what the release before left when its worker was stopped", () => {
  const { pool } = useDatabase();
  const set = (alertId: string, columns: string) => pool.query(`UPDATE alert SET ${columns} WHERE id = $1`, [alertId]);
  const summarize = async (alertId: string, columns: Record<string, string>) => {
    const values = { created_at: "now()", sent_at: "NULL", attempts: "0", ...columns };
    await pool.query(
      `WITH made AS (
         INSERT INTO alert_summary (account_id, id, ${Object.keys(values)})
         SELECT account_id, overlay(id::text PLACING left(uuid_floor(now())::text, 13) FROM 1)::uuid, ${Object.values(values)}
         FROM alert WHERE id = $1 RETURNING account_id, id, sent_at)
       UPDATE alert SET summary_id = made.id, held_until = now(), sent_at = made.sent_at FROM made
       WHERE alert.account_id = made.account_id AND alert.id = $1`,
      [alertId],
    );
    const { rows } = await pool.query("SELECT summary_id FROM alert WHERE id = $1", [alertId]);
    return rows[0].summary_id as string;
  };
  const traces: Record<string, FailedTrace> = {};
  const trace = (name: string): FailedTrace => {
    const made = traces[name];
    if (!made) throw new Error(`No trace ${name}`);
    return made;
  };
  let summaryId = "";
  const own = openOwnMails(pool);

  beforeAll(async () => {
    for (const name of ["fresh", "inHand", "late", "routed", "held", "heldLate", "inSummary", "sent", "failed"]) {
      traces[name] = await makeFailedTrace(pool);
    }
    await set(trace("inHand").alertId, "allowed_at = now(), due_at = now() + interval '20 seconds'");
    await set(trace("late").alertId, "allowed_at = now() - interval '1 hour', attempts = 12, last_error = 'no'");
    await pool.query("INSERT INTO alert_settings (account_id) VALUES ($1)", [trace("routed").accountId]);
    await pool.query("INSERT INTO channel (account_id, id, kind) VALUES ($1, $1, 'mail')", [trace("routed").accountId]);
    await set(trace("routed").alertId, "routed_at = now()");
    await set(trace("held").alertId, "held_until = now() - interval '1 minute'");
    const [sent] = await makeMoreAlerts(pool, { accountId: trace("heldLate").accountId, count: 1 });
    await set(trace("heldLate").alertId, "held_until = now() - interval '1 minute'");
    const sentAt = "now() - interval '20 minutes'";
    await summarize(sent?.alertId ?? "", { created_at: sentAt, sent_at: sentAt });
    summaryId = await summarize(trace("inSummary").alertId, {
      created_at: "now() - interval '90 minutes'",
      attempts: "2",
    });
    await set(trace("sent").alertId, "sent_at = now()");
    await set(trace("failed").alertId, "failed_at = now(), attempts = 9");
  });

  it("goes out once: alerts, those above a limit in a summary, and a summary with its key", async () => {
    await own.round();
    await own.round();
    const keys = new Map(own.mails.map(({ to, idempotencyKey, subject }) => [to, [idempotencyKey, subject]]));
    const single = "support-bot: “answer a ticket” ended in error";
    const summary = "1 more failed trace";
    expect(keys).toEqual(
      new Map([
        [trace("fresh").email, [trace("fresh").alertId, single]],
        [trace("late").email, [trace("late").alertId, single]],
        [trace("routed").email, [trace("routed").alertId, single]],
        [trace("held").email, [expect.any(String), summary]],
        [trace("inSummary").email, [summaryId, summary]],
      ]),
    );
    expect(own.mails).toHaveLength(keys.size);
    for (const name of ["fresh", "late", "routed", "held", "inSummary"]) {
      expect([name, await readAlert(pool, trace(name))]).toMatchObject([name, { isSent: true }]);
    }
    expect(await readAlert(pool, trace("late"))).toMatchObject({ attempts: 13 });
    expect(await readAlert(pool, trace("inSummary"))).toMatchObject({ attempts: 3 });
    expect(await readAlert(pool, trace("failed"))).toMatchObject({ isSent: false, attempts: 9 });
  });

  it("keeps the time since its first attempt, as the release before worked it out", async () => {
    const sql = "SELECT round(extract(epoch FROM created_at - begun_at))::int AS s FROM delivery WHERE event_id = $1";
    const { rows } = await pool.query(sql, [trace("late").alertId]);
    // Pauses of 2 s up to 2,048 s and one of an hour, each a tenth longer.
    expect(rows[0].s / 1.1).toBeGreaterThan(4_094 + 3_600 - 10);
    expect(rows[0].s / 1.1).toBeLessThanOrEqual(4_094 + 3_600);
  });

  it("goes out in its time: after the lease of an attempt, and an hour after the last summary", async () => {
    const sql = `SELECT account_id, extract(epoch FROM due_at - now())::float8 / 60 AS minutes FROM delivery
      WHERE sent_at IS NULL AND failed_at IS NULL ORDER BY due_at`;
    const [inHand, heldLate] = (await pool.query(sql)).rows;
    expect(inHand.account_id).toBe(trace("inHand").accountId);
    expect(heldLate.account_id).toBe(trace("heldLate").accountId);
    expect(heldLate.minutes).toBeGreaterThan(37);
    expect(heldLate.minutes).toBeLessThanOrEqual(40);
    const before = own.mails.length;
    await pool.query("UPDATE delivery SET due_at = now(), begun_at = begun_at - interval '61 minutes'");
    await own.round();
    expect(own.mails.slice(before)).toHaveLength(2);
    expect(own.mails.slice(before)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ idempotencyKey: trace("inHand").alertId }),
        expect.objectContaining({ to: trace("heldLate").email, subject: "1 more failed trace" }),
      ]),
    );
  });
});
