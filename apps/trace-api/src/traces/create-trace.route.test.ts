import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { spanBody, traceBody, useApp } from "../app.fixture.js";

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("POST /api/v1/traces", () => {
  const test = useApp();

  describe("201", () => {
    it("answers the trace's id and nothing else, and the trace is in the database", async () => {
      const account = await test.makeAccount("pro");
      const answer = await account.post("/api/v1/traces", traceBody({ metadata: { a: 1 } })).expect(201);
      expect(answer.body).toEqual({ trace_id: expect.stringMatching(uuidV7) });
      expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
      const { rows } = await test.pool.query("SELECT * FROM trace WHERE account_id = $1", [account.id]);
      expect(rows).toMatchObject([{ id: answer.body.trace_id, agent_id: "agent", status: "running", ended_at: null }]);
    });

    it.each(["running", "success", "error", "timeout"])(
      "takes the status %s, and adds no alert for it",
      async (status) => {
        const account = await test.makeAccount("pro");
        const id = await account.makeTrace({ status, ended_at: "2026-06-01T12:00:05Z" });
        expect((await account.get(`/api/v1/traces/${id}`)).body.status).toBe(status);
        const { rowCount } = await test.pool.query("SELECT FROM alert WHERE account_id = $1", [account.id]);
        expect(rowCount).toBe(0);
      },
    );

    it("takes null for what is optional, and ignores what it does not know", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace({
        ended_at: null,
        metadata: null,
        id: "mine",
        account_id: "theirs",
        spans: [1],
      });
      expect((await account.get(`/api/v1/traces/${id}`)).body).toEqual({
        id,
        agent_id: "agent",
        name: "A run",
        status: "running",
        started_at: "2026-06-01T12:00:00.000Z",
        ended_at: null,
        metadata: null,
        spans: [],
      });
    });

    it("creates each agent once, on first use", async () => {
      const account = await test.makeAccount("pro");
      await Promise.all([1, 2, 3, 4, 5, 6].map((n) => account.makeTrace({ agent_id: `agent-${n % 2}` })));
      const { rows } = await test.pool.query("SELECT id FROM agent WHERE account_id = $1 ORDER BY id", [account.id]);
      expect(rows).toEqual([{ id: "agent-0" }, { id: "agent-1" }]);
    });

    it("shows what is left of the month", async () => {
      const account = await test.makeAccount("free");
      test.setNow(new Date("2026-01-31T23:59:30Z"));
      const answer = await account.post("/api/v1/traces", traceBody());
      expect(answer.headers).toMatchObject({
        "ratelimit-limit": "1000",
        "ratelimit-remaining": "999",
        "ratelimit-reset": "30",
      });
    });

    it("takes texts at their bounds: an agent_id of 255 characters, a name of 1,000", async () => {
      const account = await test.makeAccount("pro");
      const body = { agent_id: "é".repeat(255), name: "😀".repeat(500) };
      const id = await account.makeTrace(body);
      expect((await account.get(`/api/v1/traces/${id}`)).body).toMatchObject(body);
    });
  });

  describe("400", () => {
    it("names every missing field", async () => {
      const account = await test.makeAccount("pro");
      const answer = await account.post("/api/v1/traces", {}).expect(400);
      expect(answer.body).toEqual({
        error: "Validation failed",
        fields: { agent_id: "Required", name: "Required", status: "Required", started_at: "Required" },
      });
    });

    it.each([
      [{ agent_id: null }, { agent_id: "Required" }],
      [{ agent_id: "" }, { agent_id: "Must not be empty" }],
      [{ agent_id: "a".repeat(256) }, { agent_id: "Must be at most 255 characters" }],
      [{ agent_id: 7 }, { agent_id: "Must be a string, not a number" }],
      [{ agent_id: "a\u0000b" }, { agent_id: "Must not contain the NUL character (U+0000)" }],
      [{ name: "n".repeat(1001) }, { name: "Must be at most 1000 characters" }],
      [{ name: ["x"] }, { name: "Must be a string, not an array" }],
      [{ status: "ok" }, { status: "Must be one of: running, success, error, timeout" }],
      [{ status: 1 }, { status: "Must be one of: running, success, error, timeout" }],
      [{ started_at: "2026-06-01" }, { started_at: expect.stringMatching(/^Must be an ISO 8601 timestamp/) }],
      [{ started_at: 1767225600 }, { started_at: expect.stringMatching(/^Must be an ISO 8601 timestamp/) }],
      [{ agent_id: undefined, agentId: "a" }, { agent_id: "Required; did you mean agent_id by agentId?" }],
      [{ started_at: "0000-01-01T00:00:00Z" }, { started_at: "Must lie in the years 0001 to 9999, in UTC" }],
      [{ ended_at: "2026-02-30T00:00:00Z" }, { ended_at: expect.stringMatching(/exist/) }],
      [{ metadata: [] }, { metadata: "Must be a JSON object or null" }],
      [{ metadata: "text" }, { metadata: "Must be a JSON object or null" }],
      [{ metadata: 0 }, { metadata: "Must be a JSON object or null" }],
    ])("refuses %#: one field, with a sentence, and stores nothing", async (changes, fields) => {
      const account = await test.makeAccount("pro");
      const answer = await account.post("/api/v1/traces", traceBody(changes)).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields });
      const { rows } = await test.pool.query(
        "SELECT (SELECT count(*)::int FROM trace WHERE account_id = $1) + (SELECT count(*)::int FROM trace_usage WHERE account_id = $1) AS n",
        [account.id],
      );
      expect(rows[0].n).toBe(0);
    });

    it("refuses lone surrogates in text", async () => {
      const account = await test.makeAccount("pro");
      const body = JSON.stringify(traceBody()).replace("A run", "\\ud83d");
      const answer = await account
        .post("/api/v1/traces")
        .set("Content-Type", "application/json")
        .send(body)
        .expect(400);
      expect(answer.body.fields.name).toMatch(/lone surrogate/);
    });
  });

  describe("403", () => {
    it("refuses a Free account's second agent, before the monthly limit is looked at", async () => {
      const account = await test.makeAccount("free");
      test.setNow(new Date("2026-03-10T00:00:00Z"));
      await account.makeTrace({ agent_id: "first" });
      const refusal = { error: "Free plan limited to 1 agent", upgrade_url: "/dashboard/billing" };
      const answer = await account.post("/api/v1/traces", traceBody({ agent_id: "second" })).expect(403);
      expect(answer.body).toEqual(refusal);
      expect(answer.headers).toMatchObject({ "ratelimit-limit": "1000", "ratelimit-remaining": "999" });
      await test.pool.query("UPDATE trace_usage SET traces = 1000 WHERE account_id = $1", [account.id]);
      const full = await account.post("/api/v1/traces", traceBody({ agent_id: "second" })).expect(403);
      expect(full.body).toEqual(refusal);
      await account.post("/api/v1/traces", traceBody({ agent_id: "first" })).expect(429);
    });

    it("leaves exactly one agent after 200 parallel creates with two names", async () => {
      const account = await test.makeAccount("free");
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) =>
          account.post("/api/v1/traces", traceBody({ agent_id: `agent-${n % 2}` })),
        ),
      );
      const statuses = answers.map((answer) => answer.status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(100);
      expect(statuses.filter((status) => status === 403)).toHaveLength(100);
      const { rowCount } = await test.pool.query("SELECT FROM agent WHERE account_id = $1", [account.id]);
      expect(rowCount).toBe(1);
    });

    it("lets existing agents go on after a downgrade, and refuses new ones", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace({ agent_id: "a" });
      await account.makeTrace({ agent_id: "b" });
      await test.pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [account.id]);
      // A new name each time: an agent that was created before the change was heard goes on too.
      let asked = 0;
      await eventually(() => account.post("/api/v1/traces", traceBody({ agent_id: `c-${++asked}` })), 403);
      await account.post("/api/v1/traces", traceBody({ agent_id: "a" })).expect(201);
      await account.post("/api/v1/traces", traceBody({ agent_id: "b" })).expect(201);
    });
  });

  describe("429", () => {
    it("accepts the 1,000th trace of the month and refuses the 1,001st, with limit and current", async () => {
      const account = await test.makeAccount("free");
      test.setNow(new Date("2026-04-30T23:59:59.500Z"));
      await account.makeTrace();
      await test.pool.query("UPDATE trace_usage SET traces = 999 WHERE account_id = $1", [account.id]);
      const last = await account.post("/api/v1/traces", traceBody()).expect(201);
      expect(last.headers["ratelimit-remaining"]).toBe("0");
      const answer = await account.post("/api/v1/traces", traceBody()).expect(429);
      expect(answer.body).toEqual({
        error: "Monthly trace limit reached. Upgrade to Pro.",
        limit: 1000,
        current: 1000,
        upgrade_url: "/dashboard/billing",
      });
      expect(answer.headers).toMatchObject({
        "ratelimit-limit": "1000",
        "ratelimit-remaining": "0",
        "ratelimit-reset": "1",
        "retry-after": "1",
      });
      test.setNow(new Date("2026-05-01T00:00:00Z"));
      const next = await account.post("/api/v1/traces", traceBody()).expect(201);
      expect(next.headers["ratelimit-remaining"]).toBe("999");
    });

    it("gives exactly ten 201s and ninety 429s to 100 parallel creates at 990 of 1,000", async () => {
      const account = await test.makeAccount("free");
      await account.makeTrace();
      await test.pool.query("UPDATE trace_usage SET traces = 990 WHERE account_id = $1", [account.id]);
      const answers = await Promise.all(Array.from({ length: 100 }, () => account.post("/api/v1/traces", traceBody())));
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10);
      const refused = answers.filter((answer) => answer.status === 429);
      expect(refused).toHaveLength(90);
      expect(new Set(refused.map((answer) => answer.body.current))).toEqual(new Set([1000]));
      const { rows } = await test.pool.query("SELECT count(*)::int AS n FROM trace WHERE account_id = $1", [
        account.id,
      ]);
      expect(rows[0].n).toBe(11);
    });

    it("counts a Pro account to 50,000", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      await test.pool.query("UPDATE trace_usage SET traces = 49999 WHERE account_id = $1", [account.id]);
      await account.post("/api/v1/traces", traceBody()).expect(201);
      const answer = await account.post("/api/v1/traces", traceBody()).expect(429);
      expect(answer.body).toMatchObject({ limit: 50_000, current: 50_000 });
    });

    it("creates no agent for a trace that the month refuses", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      await test.pool.query("UPDATE trace_usage SET traces = 50000 WHERE account_id = $1", [account.id]);
      await account.post("/api/v1/traces", traceBody({ agent_id: "late" })).expect(429);
      const { rowCount } = await test.pool.query("SELECT FROM agent WHERE account_id = $1 AND id = 'late'", [
        account.id,
      ]);
      expect(rowCount).toBe(0);
    });

    it("gives nothing back for deleted traces, and counts no refused ones", async () => {
      const account = await test.makeAccount("free");
      await account.makeTrace();
      await account.post("/api/v1/traces", {}).expect(400);
      await test.pool.query("DELETE FROM trace WHERE account_id = $1", [account.id]);
      const answer = await account.post("/api/v1/traces", traceBody()).expect(201);
      expect(answer.headers["ratelimit-remaining"]).toBe("998");
    });

    it("leaves other accounts alone, and spans and reads of a full account", async () => {
      const [full, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const id = await full.makeTrace();
      await test.pool.query("UPDATE trace_usage SET traces = 1000 WHERE account_id = $1", [full.id]);
      await other.post("/api/v1/traces", traceBody()).expect(201);
      await full.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(201);
      await full.get(`/api/v1/traces/${id}`).expect(200);
      await request(test.app).get("/health").expect(200, { status: "ok" });
    });
  });
});

/** Asks until a change of plan has reached the running service. */
async function eventually(ask: () => request.Test, status: number): Promise<void> {
  while ((await ask()).status !== status);
}
