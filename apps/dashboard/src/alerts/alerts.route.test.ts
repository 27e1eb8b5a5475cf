import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDashboard } from "../dashboard.fixture.js";
import type { AlertList, ListedAlert } from "./alerts.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;
const uuid = createUuidV7();

/** Makes an alert; `columns` has SQL for further columns. */
async function makeAlert(accountId: string, columns: Record<string, string> = {}, traceId = uuid()): Promise<string> {
  const id = uuid();
  const names = Object.keys(columns).map((name) => `, ${name}`);
  const values = Object.values(columns).map((value) => `, ${value}`);
  await pool.query(
    `INSERT INTO alert (account_id, id, trace_id, status${names.join("")})
     VALUES ($1, $2, $3, 'error'${values.join("")})`,
    [accountId, id, traceId],
  );
  return id;
}

const idsOf = ({ alerts }: AlertList) => alerts.map(({ id }) => id);

describe("GET /alerts", () => {
  it("has each state with its reason and its trace, newest first, and filters by state", async () => {
    const accountId = await dashboard.makeAccount();
    const traceId = uuid();
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       VALUES ($1, $2, 'writer', 'refund', 'error', now())`,
      [accountId, traceId],
    );
    const ids = {
      pending: await makeAlert(accountId, {}, traceId),
      held: await makeAlert(accountId, { held_until: "now() + interval '1 hour'" }),
      failed: await makeAlert(accountId, { failed_at: "now()", last_error: "'bounced'", attempts: "20" }),
      sent: await makeAlert(accountId, { sent_at: "now()", held_until: "now()" }),
    };
    await makeAlert(await dashboard.makeAccount());
    const person = await dashboard.signIn(accountId, "member");
    const all: AlertList = (await person.get("/alerts").expect(200)).body;
    expect(all.alerts.map(({ id, state }) => [state, id])).toEqual(Object.entries(ids).reverse());
    expect(all).toMatchObject({ next: null, hasMails: true });
    expect(all.alerts[3]?.trace).toEqual({ id: traceId, name: "refund", agentId: "writer" });
    for (const [state, id] of Object.entries(ids))
      expect(idsOf((await person.get(`/alerts?state=${state}`).expect(200)).body)).toEqual([id]);
    const failed: ListedAlert = (await person.get("/alerts?state=failed").expect(200)).body.alerts[0];
    expect(failed).toMatchObject({ reason: "bounced", attempts: 20, trace: { name: null } });
  });

  it("goes on over pages without a gap", async () => {
    const accountId = await dashboard.makeAccount("free");
    const made: string[] = [];
    for (let n = 0; n < 103; n++) made.unshift(await makeAlert(accountId));
    const person = await dashboard.signIn(accountId);
    const ids: string[] = [];
    for (let before = ""; ; ) {
      const page: AlertList = (await person.get(`/alerts?state=pending${before}`).expect(200)).body;
      expect(page.hasMails).toBe(false);
      ids.push(...idsOf(page));
      if (page.next === null) break;
      before = `&before=${page.next}`;
    }
    expect(ids).toEqual(made);
  });

  it("answers 400 for an unknown state, and 401 without a session", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    await person.get("/alerts?state=lost").expect(400);
    await dashboard.anonymous().get("/alerts").expect(401);
  });
});

describe("POST /alerts/:alert_id/retry", () => {
  it("makes a failed and a held mail pending, for members too", async () => {
    const accountId = await dashboard.makeAccount();
    const member = await dashboard.signIn(accountId, "member");
    for (const columns of [{ failed_at: "now()", attempts: "20" }, { held_until: "now()" }]) {
      const id = await makeAlert(accountId, columns);
      await member.post(`/alerts/${id}/retry`).expect(200, { state: "pending" });
      const { rows } = await pool.query("SELECT attempts, due_at <= now() AS is_due FROM alert WHERE id = $1", [id]);
      expect(rows).toEqual([{ attempts: 0, is_due: true }]);
    }
  });

  it("leaves a sent mail alone", async () => {
    const accountId = await dashboard.makeAccount();
    const id = await makeAlert(accountId, { sent_at: "now()" });
    await (await dashboard.signIn(accountId)).post(`/alerts/${id}/retry`).expect(200, { state: "sent" });
  });

  it("does not find another account's alert, which stays", async () => {
    const id = await makeAlert(await dashboard.makeAccount(), { failed_at: "now()" });
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (const path of [id, uuid(), "x"]) await stranger.post(`/alerts/${path}/retry`).expect(404);
    expect((await pool.query("SELECT FROM alert WHERE id = $1 AND failed_at IS NOT NULL", [id])).rowCount).toBe(1);
  });
});
