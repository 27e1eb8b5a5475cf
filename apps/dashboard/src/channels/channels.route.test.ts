import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { useDashboard } from "../dashboard.fixture.js";
import type { ChannelList, RuleList } from "./channels.route.js";

const dashboard = useDashboard();
const allowing = useDashboard({ env: { WEBHOOK_ALLOW_PRIVATE: "127.0.0.0/8,fd00::/8" } });
const nobody = "00000000-0000-7000-8000-000000000000";

async function open(plan: "free" | "pro" = "pro") {
  const accountId = await dashboard.makeAccount(plan);
  const owner = await dashboard.signIn(accountId);
  const list = async () => (await owner.get("/channels").expect(200)).body as ChannelList;
  const add = async (body: object) => (await owner.post("/channels", body).expect(201)).body;
  return { accountId, owner, list, add };
}

describe("channels", () => {
  it("201 and 200: are added, a webhook's secret once, and listed after the account's own", async () => {
    const { accountId, owner, list, add } = await open();
    expect(await list()).toMatchObject({
      channels: [{ id: accountId, kind: "mail", state: "active" }],
      mode: "each",
      windowSeconds: 600,
      hasAlerts: true,
    });
    const hook = await add({ kind: "webhook", to: "https://example.com/hook", agents: ["a"], statuses: ["timeout"] });
    expect(hook).toMatchObject({ kind: "webhook", secret: expect.stringMatching(/^whsec_/) });
    const slack = await add({ kind: "slack", to: "https://hooks.slack.com/services/T/B/secret", recovered: true });
    expect(slack).not.toHaveProperty("secret");
    const { channels } = await list();
    expect(channels).toMatchObject([
      { id: accountId },
      { id: hook.id, to: "https://example.com/hook", agents: ["a"], statuses: ["timeout"], recovered: false },
      { id: slack.id, to: "https://hooks.slack.com/…cret", recovered: true },
    ]);
    expect(JSON.stringify(channels)).not.toContain("whsec_");
    const member = await dashboard.signIn(accountId, "member");
    expect((await member.get("/channels").expect(200)).body.channels).toHaveLength(3);
    await owner.delete(`/channels/${slack.id}`).expect(200);
    expect((await list()).channels).toHaveLength(2);
  });

  it("400: refuse private addresses, wrong ones, and a plan without alerts", async () => {
    const { owner } = await open();
    for (const host of [
      "127.0.0.1",
      "10.1.2.3:8080",
      "[::1]",
      "[::ffff:192.168.1.1]",
      "localhost",
      "a.localhost.",
      "0x7f.1",
    ]) {
      const answer = await owner.post("/channels", { kind: "webhook", to: `http://${host}/hook` }).expect(400);
      expect([host, answer.body.fields]).toEqual([
        host,
        { to: "Must be a public address: this one is inside a private network" },
      ]);
    }
    for (const [body, field] of [
      [{ kind: "webhook", to: "example.com" }, "to"],
      [{ kind: "mail", to: "nobody" }, "to"],
      [{ kind: "mail", to: "a@example.com", agents: [" "] }, "agent"],
      [{ kind: "fax", to: "1" }, "kind"],
    ] as const) {
      const answer = await owner.post("/channels", body).expect(400);
      expect(Object.keys(answer.body.fields)).toEqual([field]);
    }
    const free = await open("free");
    expect((await free.list()).hasAlerts).toBe(false);
    const refused = await free.owner.post("/channels", { kind: "mail", to: "a@example.com" }).expect(400);
    expect(refused.body.reason).toBe("Channels need the Pro plan.");
  });

  it("200: are tested, which owes a delivery", async () => {
    const { owner, list, add } = await open();
    const { id } = await add({ kind: "webhook", to: "https://example.com/hook" });
    await owner.post(`/channels/${id}/test`).expect(200);
    expect((await list()).channels[1]).toMatchObject({ id, pending: 1 });
  });

  it("429: are tested five times an hour, and finished tests do not pile up", async () => {
    const { accountId, owner } = await open();
    for (let n = 0; n < 5; n++) await owner.post(`/channels/${accountId}/test`).expect(200);
    const refused = await owner.post(`/channels/${accountId}/test`).expect(429);
    expect(refused.body.reason).toBe("At most 5 tests of a channel and 20 of an account an hour.");
    expect(refused.headers["retry-after"]).toBe("3600");
    const earlier = "uuid_floor(now() - interval '2 hours')";
    const sql = `UPDATE delivery SET sent_at = now(), event_id = (left(${earlier}::text, 24) || right(event_id::text, 12))::uuid
      WHERE account_id = $1`;
    await dashboard.pool.query(sql, [accountId]);
    await owner.post(`/channels/${accountId}/test`).expect(200);
    const { rows } = await dashboard.pool.query("SELECT type FROM delivery WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ type: "test" }]);
  });

  it("429: are tested twenty times an hour over all channels, deleted ones too", async () => {
    const { accountId, owner, add } = await open();
    for (let n = 0; n < 4; n++) {
      const { id } = await add({ kind: "webhook", to: "https://example.com/hook" });
      for (let test = 0; test < 5; test++) await owner.post(`/channels/${id}/test`).expect(200);
      await dashboard.pool.query("UPDATE delivery SET sent_at = now() WHERE account_id = $1", [accountId]);
      await owner.delete(`/channels/${id}`).expect(200);
    }
    await owner.post(`/channels/${accountId}/test`).expect(429);
  });

  it("400: are not tested without the plan", async () => {
    const { accountId, owner } = await open("free");
    const { body } = await owner.post(`/channels/${accountId}/test`).expect(400);
    expect(body.reason).toBe("Channels need the Pro plan.");
  });

  it("404: are not another account's", async () => {
    const { add, list } = await open();
    const { id } = await add({ kind: "mail", to: "a@example.com" });
    const { owner: other, list: others } = await open();
    for (const each of [id, nobody, "x"]) {
      await other.post(`/channels/${each}/test`).expect(404);
      await other.delete(`/channels/${each}`).expect(404);
    }
    expect((await list()).channels).toHaveLength(2);
    expect((await others()).channels).toHaveLength(1);
  });

  it("take private addresses of networks that the operator allows, and no others", async () => {
    const owner = await allowing.signIn(await allowing.makeAccount());
    const { body } = await owner.post("/channels", { kind: "webhook", to: "http://127.0.0.1/hook" }).expect(201);
    expect(body.to).toBe("http://127.0.0.1/hook");
    await owner.post("/channels", { kind: "webhook", to: "http://[fd12::1]/hook" }).expect(201);
    await owner.post("/channels", { kind: "webhook", to: "http://10.0.0.1/hook" }).expect(400);
  });
});

describe("a channel of mail", () => {
  const to = "stranger@example.org";
  /** The tokens that the worker mails. */
  async function tokensOf(accountId: string): Promise<string[]> {
    const sql =
      "SELECT content->>'token' AS token FROM delivery WHERE account_id = $1 AND type = 'confirm' ORDER BY event_id";
    return (await dashboard.pool.query<{ token: string }>(sql, [accountId])).rows.map(({ token }) => token);
  }

  it("waits for a stranger's click on the mailed link, and gets nothing else before it", async () => {
    const { accountId, owner, list, add } = await open();
    const { id, state } = await add({ kind: "mail", to });
    expect(state).toBe("waiting");
    expect((await list()).channels[1]).toMatchObject({ id, to, state: "waiting" });
    await owner.post(`/channels/${id}/test`).expect(409);
    await owner.post(`/channels/${id}/link`).expect(200);
    const { rows } = await dashboard.pool.query("SELECT type FROM delivery WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ type: "confirm" }, { type: "confirm" }]);
    const [token, again] = await tokensOf(accountId);
    const { body } = await dashboard.anonymous().get(`/link?token=${token}`).expect(200);
    expect(body).toMatchObject({ purpose: "channel", email: to, needsName: false, needsPassword: false });
    expect((await list()).channels[1]?.state).toBe("waiting");
    const used = await dashboard
      .anonymous()
      .post("/link", { token })
      .expect(200, { isSignedIn: false, purpose: "channel" });
    expect(used.headers["set-cookie"]).toBeUndefined();
    expect((await list()).channels[1]?.state).toBe("active");
    await owner.post(`/channels/${id}/test`).expect(200);
    await owner.post(`/channels/${id}/link`).expect(404);
    await owner.delete(`/channels/${id}`).expect(200);
    await dashboard.anonymous().post("/link", { token: again }).expect(404);
  });

  it("waits for nothing with the address of somebody in the account", async () => {
    const { accountId, add } = await open();
    const member = await dashboard.signIn(accountId, "member");
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    expect(await add({ kind: "mail", to: member.email.toUpperCase() })).not.toHaveProperty("state");
    expect(await add({ kind: "mail", to: stranger.email })).toMatchObject({ state: "waiting" });
  });

  it("429: mails ten links to an address over all accounts, and twenty of an account", async () => {
    const [one, other] = [await open(), await open()];
    const victim = "victim@example.org";
    const { id } = await one.add({ kind: "mail", to: victim });
    for (let n = 0; n < 9; n++) await one.owner.post(`/channels/${id}/link`).expect(200);
    await one.owner.post(`/channels/${id}/link`).expect(429);
    const refused = await other.owner.post("/channels", { kind: "mail", to: victim }).expect(429);
    expect(refused.body.reason).toBe("At most 10 links to an address a day.");
    expect((await other.list()).channels).toHaveLength(1);
    for (let n = 0; n < 10; n++) await one.add({ kind: "mail", to: `another-${n}@example.org` });
    const full = await one.owner.post("/channels", { kind: "mail", to: "last@example.org" }).expect(429);
    expect(full.body.reason).toBe("At most 20 links of an account a day.");
  });

  it("403 and 404: has its link sent again by an owner of its account alone", async () => {
    const { accountId, add } = await open();
    const { id } = await add({ kind: "mail", to: "again@example.org" });
    const [member, other] = [await dashboard.signIn(accountId, "member"), await open()];
    await member.post(`/channels/${id}/link`).expect(403);
    await other.owner.post(`/channels/${id}/link`).expect(404);
  });
});

describe("reports", () => {
  it("200 and 400: come to the viewer's own address, also a member's, with the plan", async () => {
    const { accountId, owner, list } = await open();
    const member = await dashboard.signIn(accountId, "member");
    await member.put("/report", { every: "month" }).expect(200);
    expect((await member.get("/channels")).body).toMatchObject({ report: "month" });
    expect(await list()).toMatchObject({ report: null, channels: [{}, { to: member.email, statuses: ["none"] }] });
    await member.put("/report", { every: null }).expect(200);
    expect((await list()).channels).toHaveLength(1);
    expect(Object.keys((await owner.put("/report", { every: "day" }).expect(400)).body.fields)).toEqual(["every"]);
    await (await open("free")).owner.put("/report", { every: "week" }).expect(400);
  });

  it("200: end from anywhere by one POST with the token of a mail, and GET only asks", async () => {
    const { accountId, owner } = await open();
    await owner.put("/report", { every: "week" }).expect(200);
    const { rows } = await dashboard.pool.query(
      "SELECT id || '.' || secret AS token FROM channel WHERE account_id = $1 AND report IS NOT NULL",
      [accountId],
    );
    const path = `/dashboard/api/unsubscribe/${rows[0]?.token}`;
    const asked = await request(dashboard.app).get(path).expect(200);
    expect(asked.text).toContain('<form method="post">');
    expect((await owner.get("/channels")).body.report).toBe("week");
    const foreign = { Origin: "https://mail.example", "Sec-Fetch-Site": "cross-site", Accept: "text/html" };
    const ended = await request(dashboard.app)
      .post(path)
      .set(foreign)
      .type("form")
      .send("List-Unsubscribe=One-Click")
      .expect(200);
    expect(ended.text).toContain("No more reports");
    expect((await owner.get("/channels")).body.report).toBeNull();
    await request(dashboard.app).post("/dashboard/api/unsubscribe/none").expect(200, {});
  });
});

describe("digests and rules", () => {
  it("200 and 400: digests are chosen with a window", async () => {
    const { owner, list } = await open();
    await owner.put("/alert-settings", { mode: "digest", windowSeconds: 1_800 }).expect(200);
    expect(await list()).toMatchObject({ mode: "digest", windowSeconds: 1_800 });
    await owner.put("/alert-settings", { mode: "each" }).expect(200);
    expect(await list()).toMatchObject({ mode: "each", windowSeconds: 1_800 });
    const answer = await owner.put("/alert-settings", { mode: "digest", windowSeconds: 1 }).expect(400);
    expect(answer.body.fields).toEqual({ window: "Must be from 1m to 24h" });
  });

  it("201, 200, 400 and 404: rules are added, listed, refused by field, and deleted by their account alone", async () => {
    const { owner } = await open();
    const rule = { agentId: "writer", abovePercent: 20, ofTraces: 20, withinSeconds: 900 };
    const { body } = await owner.post("/alert-rules", rule).expect(201);
    const rules = async () => ((await owner.get("/alert-rules").expect(200)).body as RuleList).rules;
    expect(await rules()).toMatchObject([
      { ...body, agent_id: "writer", above_percent: 20, of: 20, within_seconds: 900 },
    ]);
    const wrong = await owner.post("/alert-rules", { ...rule, abovePercent: 100, ofTraces: 0.5 }).expect(400);
    expect(Object.keys(wrong.body.fields)).toEqual(["above", "of"]);
    const { owner: other } = await open();
    await other.delete(`/alert-rules/${body.id}`).expect(404);
    expect((await other.get("/alert-rules").expect(200)).body.rules).toEqual([]);
    await owner.delete(`/alert-rules/${body.id}`).expect(200);
    expect(await rules()).toEqual([]);
  });
});
