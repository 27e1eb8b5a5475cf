import { beforeEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { makeFailedTrace, readAlert } from "../worker.fixture.js";
import { openOwnMails, passPauses } from "./own-mails.fixture.js";

const { pool } = useDatabase();
beforeEach(() => pool.query("TRUNCATE alert, delivery"));

describe("sending an alert's mail", () => {
  it("sends one mail to the account, with the innermost failing span, and settles the alert", async () => {
    const trace = await makeFailedTrace(pool);
    const { round, mails, counts } = openOwnMails(pool);
    await round();
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatchObject({ to: trace.email, idempotencyKey: trace.alertId });
    expect(mails[0]?.text).toMatch(/Failed span: +call the model/);
    expect(mails[0]?.text).toContain("connection refused");
    expect(mails[0]?.text).toMatch(/Duration: +1 min 23 s/);
    expect(mails[0]?.text).toContain(`https://waymark.example/dashboard/traces/${trace.traceId}`);
    expect(await readAlert(pool, trace)).toMatchObject({ isSent: true, attempts: 1, last_error: null });
    expect(counts).toEqual(["alert sent"]);
  });

  it("sends nothing for an alert that is settled", async () => {
    const [trace, sent, failed] = [
      await makeFailedTrace(pool),
      await makeFailedTrace(pool),
      await makeFailedTrace(pool),
    ];
    await pool.query("UPDATE alert SET sent_at = now() WHERE id = $1", [sent.alertId]);
    await pool.query("UPDATE alert SET failed_at = now() WHERE id = $1", [failed.alertId]);
    const { round, mails } = openOwnMails(pool);
    await round();
    await round();
    expect(mails.map(({ to }) => to)).toEqual([trace.email]);
  });

  it("sends one account's alerts alone where asked so", async () => {
    const [mine, other] = [await makeFailedTrace(pool), await makeFailedTrace(pool)];
    const { round, mails } = openOwnMails(pool);
    await round(mine.accountId);
    expect(mails.map(({ to }) => to)).toEqual([mine.email]);
    expect(await readAlert(pool, other)).toMatchObject({ isSent: false });
  });

  it("tells failures that were counted while the mail waited", async () => {
    await makeFailedTrace(pool);
    const { round, mails } = openOwnMails(pool, { answers: [{ outcome: "deferred", reason: "no" }] });
    await round();
    await pool.query("UPDATE alert SET failures = 21");
    await passPauses(pool);
    await round();
    expect(mails[1]?.text).toMatch(/Failures: +21 failures/);
  });

  it("waits longer after each attempt, and says why in the row", async () => {
    const trace = await makeFailedTrace(pool, { hasSpan: false });
    const deferred = { outcome: "deferred", reason: "Resend answered 500" } as const;
    const answers = [deferred, deferred, { ...deferred, retryAfterMs: 60_000 }];
    const { round, counts } = openOwnMails(pool, { answers });
    for (const retryAfterMs of [2_000, 4_000, 60_000]) {
      await round();
      expect((await readAlert(pool, trace))?.last_error).toBe("Resend answered 500");
      const [waitMs] = await passPauses(pool);
      expect(waitMs).toBeGreaterThan(retryAfterMs - 1_000);
      expect(waitMs).toBeLessThanOrEqual(1.1 * retryAfterMs);
    }
    expect(await readAlert(pool, trace)).toMatchObject({ isSent: false, hasFailed: false, attempts: 3 });
    await round();
    expect(await readAlert(pool, trace)).toMatchObject({ isSent: true, attempts: 4, last_error: null });
    expect(counts).toEqual(["alert deferred", "alert deferred", "alert deferred", "alert sent"]);
  });

  it("gives up within a day, keeps the reason and logs an error", async () => {
    const trace = await makeFailedTrace(pool);
    const answers = Array.from({ length: 40 }, () => ({ outcome: "deferred", reason: "no" }) as const);
    const { round, lines } = openOwnMails(pool, { answers });
    let totalMs = 0;
    let attempts = 0;
    for (let pauses = [0]; pauses[0] !== undefined; pauses = await passPauses(pool), attempts++) {
      totalMs += pauses[0];
      await round();
    }
    expect(totalMs / 3_600_000).toBeGreaterThan(12);
    expect(totalMs / 3_600_000).toBeLessThan(24);
    expect(await readAlert(pool, trace)).toMatchObject({ hasFailed: true, attempts, last_error: "no" });
    expect(lines.at(-1)).toMatchObject({ level: 50, msg: "alert mail given up", alertId: trace.alertId, reason: "no" });
  });

  it("gives up at once on a mail that is refused", async () => {
    const trace = await makeFailedTrace(pool);
    const { round, counts } = openOwnMails(pool, { answers: [{ outcome: "refused", reason: "Resend answered 422" }] });
    await round();
    expect(await readAlert(pool, trace)).toMatchObject({ hasFailed: true, last_error: "Resend answered 422" });
    expect(counts).toEqual(["alert failed"]);
  });

  it("waits as long as a rate limit says, without counting that as an attempt", async () => {
    const trace = await makeFailedTrace(pool);
    const { round } = openOwnMails(pool, {
      answers: [{ outcome: "rate-limited", reason: "429", retryAfterMs: 12_340 }],
    });
    await round();
    expect(await readAlert(pool, trace)).toMatchObject({ attempts: 0, last_error: "429", hasFailed: false });
    const [waitMs] = await passPauses(pool);
    expect(waitMs).toBeGreaterThan(11_340);
    expect(waitMs).toBeLessThanOrEqual(12_340);
  });

  it("sends nothing for a trace that is deleted, also between two attempts, and does not call that a failure", async () => {
    const trace = await makeFailedTrace(pool);
    const { round, mails, counts, lines } = openOwnMails(pool, {
      answers: [{ outcome: "deferred", reason: "Resend answered 500" }],
    });
    await round();
    const before = await makeFailedTrace(pool);
    await pool.query("DELETE FROM trace WHERE id = ANY ($1)", [[trace.traceId, before.traceId]]);
    await passPauses(pool);
    await round();
    await round();
    expect(mails).toHaveLength(1);
    expect(counts).toEqual(["alert deferred"]);
    expect(lines.at(-1)).toMatchObject({ level: 30, alertId: trace.alertId });
    const reason = "The trace is gone";
    expect(await readAlert(pool, trace)).toMatchObject({ hasFailed: true, attempts: 1, last_error: reason });
    expect(await readAlert(pool, before)).toMatchObject({ hasFailed: true, attempts: 0, last_error: reason });
  });

  it("sends nothing where a deleted trace took its alert along", async () => {
    const trace = await makeFailedTrace(pool);
    const { round, mails } = openOwnMails(pool, { answers: [{ outcome: "deferred", reason: "no" }] });
    await round();
    await pool.query("DELETE FROM trace WHERE id = $1", [trace.traceId]);
    await pool.query("DELETE FROM alert WHERE id = $1", [trace.alertId]);
    await passPauses(pool);
    await round();
    expect(mails).toHaveLength(1);
    expect((await pool.query("SELECT last_error FROM delivery")).rows).toEqual([{ last_error: "The trace is gone" }]);
  });
});

describe("the failing span that a mail names", () => {
  const ids = Array.from({ length: 6 }, (_, n) => `0198a7e0-0000-7000-8000-00000000000${n}`);

  /** Spans by number: parent, start and end in seconds, and whether it failed. */
  async function mailOf(spans: { parent?: number | string; start: number; end?: number; failed?: boolean }[]) {
    const trace = await makeFailedTrace(pool, { hasSpan: false });
    for (const [n, { parent, start, end, failed = true }] of spans.entries()) {
      const parentId = typeof parent === "number" ? ids[parent] : parent;
      await pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, error, parent_span_id)
         VALUES ($1, $2, $3, $4, $5, to_timestamp($6), to_timestamp($7), $8, $9)`,
        [
          trace.accountId,
          trace.traceId,
          ids[n],
          `span ${n}`,
          failed ? "error" : "ok",
          start,
          end,
          failed ? `cause ${n}` : null,
          parentId,
        ],
      );
    }
    const { round, mails } = openOwnMails(pool);
    await round();
    return { name: /Failed span: +(.*)/.exec(mails[0]?.text ?? "")?.[1], text: mails[0]?.text ?? "", trace };
  }

  it("is the innermost where an error propagates to its wrappers, with its own error", async () => {
    const { name, text, trace } = await mailOf([
      { start: 1, end: 9 },
      { start: 2, end: 8, parent: 0 },
      { start: 3, end: 7, parent: 1 },
      { start: 4, end: 6, parent: 2, failed: false },
    ]);
    expect(name).toBe("span 2");
    expect(text).toContain("cause 2");
    expect(text).not.toContain("cause 0");
    expect(text).toContain("2026-01-02 03:04:05 UTC");
    expect(text).toContain(trace.traceId);
  });

  it("is the one that ended first of several innermost ones; without an end its start counts", async () => {
    expect(
      (
        await mailOf([
          { start: 1, end: 9 },
          { start: 2, end: 8, parent: 0 },
          { start: 3, end: 5, parent: 0 },
        ])
      ).name,
    ).toBe("span 2");
    expect((await mailOf([{ start: 2, end: 8 }, { start: 7 }])).name).toBe("span 1");
  });

  it("finds a parent that a client wrote in capitals", async () => {
    const { name } = await mailOf([
      { start: 1, end: 2 },
      { start: 3, end: 4, parent: ids[0]?.toUpperCase() ?? "" },
    ]);
    expect(name).toBe("span 1");
  });

  it("is a failing span also where parents are no ids, are missing, or form a circle", async () => {
    expect((await mailOf([{ start: 1, end: 2, parent: "the first step" }])).name).toBe("span 0");
    expect((await mailOf([{ start: 1, end: 2, parent: 0 }])).name).toBe("span 0");
    expect(
      (
        await mailOf([
          { start: 1, end: 4, parent: 1 },
          { start: 2, end: 3, parent: 0 },
        ])
      ).name,
    ).toBe("span 1");
  });

  it("is found among 100,000 spans", async () => {
    const trace = await makeFailedTrace(pool);
    await pool.query("DELETE FROM span WHERE trace_id = $1", [trace.traceId]);
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, error, parent_span_id)
       SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 'wrapper ' || n, CASE WHEN n > 95000 THEN 'error' ELSE 'ok' END,
         '2026-01-02T03:04:05Z', '2026-01-02T03:05:05Z', repeat('x', 500), (lpad(to_hex(n - 1), 32, '0')::uuid)::text
       FROM generate_series(1, 100000) AS n`,
      [trace.accountId, trace.traceId],
    );
    const { round, mails } = openOwnMails(pool);
    await round();
    expect(mails[0]?.text).toMatch(/Failed span: +wrapper 100000/);
  });
});
