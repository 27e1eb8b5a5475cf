import { describe, expect, it } from "@jest/globals";
import { type TestAccount, useApp } from "../app.fixture.js";

describe("PATCH /api/v1/traces/:trace_id", () => {
  const test = useApp();

  const alertsOf = async (account: TestAccount) => {
    const { rows } = await test.pool.query(
      "SELECT id, status, trace_id FROM alert WHERE account_id = $1 ORDER BY created_at, id",
      [account.id],
    );
    return rows;
  };
  const alertStatuses = async (account: TestAccount) => (await alertsOf(account)).map((alert) => alert.status);
  const patch = (account: TestAccount, id: string, body: unknown) =>
    account.patch(`/api/v1/traces/${id}`, body).expect(200, { ok: true });

  describe("200", () => {
    it("changes only what is given", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace({ metadata: { keep: true } });
      const read = async () => (await account.get(`/api/v1/traces/${id}`)).body;
      await patch(account, id, { status: "success" });
      expect(await read()).toMatchObject({ status: "success", ended_at: null, metadata: { keep: true } });
      await patch(account, id, { ended_at: "2026-06-01T12:00:09.5+02:00" });
      expect(await read()).toMatchObject({ status: "success", ended_at: "2026-06-01T10:00:09.500Z" });
      await patch(account, id, {});
      await patch(account, id, { name: "other", metadata: {} });
      expect(await read()).toMatchObject({
        name: "A run",
        ended_at: "2026-06-01T10:00:09.500Z",
        metadata: { keep: true },
      });
      await patch(account, id, { ended_at: null });
      expect(await read()).toMatchObject({ status: "success", ended_at: null });
    });

    it("is a write of the trace: its moment is kept", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      await test.pool.query("UPDATE trace SET written_at = '2026-01-01' WHERE id = $1", [id]);
      await patch(account, id, {});
      const { rows } = await test.pool.query("SELECT written_at FROM trace WHERE id = $1", [id]);
      expect(rows[0].written_at.getTime()).toBeGreaterThan(Date.now() - 60_000);
    });

    it("moves from any status to any", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace({ status: "timeout" });
      for (const status of ["running", "error", "success", "running", "timeout"]) {
        await patch(account, id, { status });
        expect((await account.get(`/api/v1/traces/${id}`)).body.status).toBe(status);
      }
    });
  });

  describe("a failed trace's alert", () => {
    it.each(["error", "timeout"])("comes for %s on a Pro account, and is queued", async (status) => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await patch(account, id, { status, ended_at: "2026-06-01T12:01:00Z" });
      const alerts = await alertsOf(account);
      expect(alerts).toEqual([{ id: expect.any(String), status, trace_id: id }]);
      expect(test.queued).toContainEqual({ accountId: account.id, alertId: alerts[0].id });
    });

    it("comes once, however often the PATCH is repeated or repeated at the same time", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await Promise.all(Array.from({ length: 30 }, () => patch(account, id, { status: "error" })));
      await patch(account, id, { status: "error", ended_at: "2026-06-01T12:01:00Z" });
      await patch(account, id, { ended_at: null });
      expect(await alertStatuses(account)).toEqual(["error"]);
      expect(test.queued.filter((alert) => alert.accountId === account.id)).toHaveLength(1);
    });

    it("comes again once another status was set in between", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      for (const status of ["error", "error", "success", "error", "timeout", "timeout", "error", "running"]) {
        await patch(account, id, { status });
      }
      expect(await alertStatuses(account)).toEqual(["error", "error", "timeout", "error"]);
    });

    it("comes anew for a trace that goes on after the worker closed it as stale", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await test.pool.query(
        `WITH alert AS (
           INSERT INTO alert (account_id, id, trace_id, status) SELECT $1, gen_random_uuid(), $2, 'timeout' RETURNING id
         )
         UPDATE trace SET status = 'timeout', alert_id = alert.id FROM alert WHERE account_id = $1 AND trace.id = $2`,
        [account.id, id],
      );
      await patch(account, id, { status: "timeout" });
      expect(await alertStatuses(account)).toEqual(["timeout"]);
      await patch(account, id, { status: "success" });
      await patch(account, id, { status: "error" });
      expect(await alertStatuses(account)).toEqual(["timeout", "error"]);
    });

    it("comes for a trace that was created failed, when a PATCH finalizes it", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace({ status: "error" });
      expect(await alertStatuses(account)).toEqual([]);
      await patch(account, id, { status: "error" });
      await patch(account, id, { status: "error" });
      expect(await alertStatuses(account)).toEqual(["error"]);
    });

    it("does not come for success or running, nor where the body has no status", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace({ status: "error" });
      await patch(account, id, { ended_at: "2026-06-01T12:01:00Z" });
      await patch(account, id, { status: "success" });
      await patch(account, id, { status: "running" });
      expect(await alertStatuses(account)).toEqual([]);
    });

    it("does not come on a Free account", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      await patch(account, id, { status: "error" });
      await patch(account, id, { status: "timeout" });
      expect(await alertStatuses(account)).toEqual([]);
    });

    it("fills no table however often a client toggles the status: the eleventh failure counts in the tenth alert", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      for (let i = 0; i < 60; i++) await patch(account, id, { status: i % 2 ? "success" : "error" });
      const { rows } = await test.pool.query("SELECT failures FROM alert WHERE account_id = $1 ORDER BY id", [
        account.id,
      ]);
      expect(rows.map(({ failures }) => failures)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 21]);
      expect(test.queued.filter(({ accountId }) => accountId === account.id)).toHaveLength(10);
      await test.pool.query("UPDATE alert SET sent_at = now() WHERE account_id = $1", [account.id]);
      await patch(account, id, { status: "timeout" });
      expect(await alertsOf(account)).toHaveLength(11);
    });

    it("waits for no worker that has the tenth alert locked: the failure gets a row of its own", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      for (let i = 0; i < 20; i++) await patch(account, id, { status: i % 2 ? "success" : "error" });
      const held = await test.hold("SELECT FROM alert WHERE account_id = $1 FOR UPDATE", [account.id]);
      await patch(account, id, { status: "error" });
      await held.rollback();
      expect(await alertsOf(account)).toHaveLength(11);
    });

    it("comes for each trace", async () => {
      const account = await test.makeAccount("pro");
      const ids = await Promise.all([1, 2, 3, 4, 5].map(() => account.makeTrace()));
      await Promise.all(ids.map((id) => patch(account, id, { status: "timeout" })));
      expect((await alertsOf(account)).map((alert) => alert.trace_id).sort()).toEqual(ids.sort());
    });
  });

  describe("400", () => {
    it.each([
      [{ status: "done" }, { status: "Must be one of: running, success, error, timeout" }],
      [{ status: null }, { status: "May be left out, else must be one of: running, success, error, timeout" }],
      [{ ended_at: "now" }, { ended_at: expect.stringMatching(/^Must be an ISO 8601 timestamp/) }],
      [{ ended_at: 5 }, { ended_at: expect.stringMatching(/^Must be an ISO 8601 timestamp/) }],
    ])("refuses %j and changes nothing", async (body, fields) => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      const answer = await account.patch(`/api/v1/traces/${id}`, { status: "error", ...body }).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields });
      expect((await account.get(`/api/v1/traces/${id}`)).body.status).toBe("running");
      expect(await alertStatuses(account)).toEqual([]);
    });

    it("comes before 404", async () => {
      const account = await test.makeAccount("pro");
      await account.patch("/api/v1/traces/unknown", { status: "done" }).expect(400);
    });
  });

  describe("404", () => {
    it.each(["unknown", "00000000-0000-7000-8000-000000000000", "%00"])("answers it for the trace %s", async (id) => {
      const account = await test.makeAccount("pro");
      const answer = await account.patch(`/api/v1/traces/${id}`, { status: "error" }).expect(404);
      expect(answer.body).toEqual({ error: "Trace not found" });
    });

    it("answers it for another account's trace, and leaves that alone", async () => {
      const [owner, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const id = await owner.makeTrace();
      await other.patch(`/api/v1/traces/${id}`, { status: "error" }).expect(404, { error: "Trace not found" });
      expect((await owner.get(`/api/v1/traces/${id}`)).body.status).toBe("running");
      expect([...(await alertStatuses(owner)), ...(await alertStatuses(other))]).toEqual([]);
    });
  });
});
