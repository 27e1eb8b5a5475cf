import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { listAgents, maxCountedTraces } from "@waymark/traces";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";

const none = { running: 0, success: 0, error: 0, timeout: 0 };
const june = { from: "2026-06-01T00:00:00.000Z", to: "2026-07-01T00:00:00.000Z" };

describe("GET /api/v1/agents", () => {
  const test = useApp();

  async function list(account: TestAccount, query: Record<string, string | number> = june) {
    const { body } = await account.get("/api/v1/agents").query(query).expect(200);
    return body;
  }

  describe("200", () => {
    it("counts each agent's traces by status, and says when the last one started", async () => {
      const account = await test.makeAccount("pro");
      const statuses = ["running", "success", "success", "error", "timeout"];
      for (const [day, status] of statuses.entries())
        await account.makeTrace({ agent_id: "b", status, started_at: `2026-06-0${day + 1}T00:00:00.000001Z` });
      await account.makeTrace({ agent_id: "a", status: "success", started_at: "2026-06-01T00:00:00Z" });
      const body = await list(account);
      expect(body).toEqual({
        agents: [
          {
            id: "a",
            created_at: expect.stringMatching(/^20..-.*Z$/),
            traces: { ...none, success: 1 },
            last_started_at: "2026-06-01T00:00:00.000Z",
          },
          {
            id: "b",
            created_at: expect.stringMatching(/^20..-.*Z$/),
            traces: { running: 1, success: 2, error: 1, timeout: 1 },
            last_started_at: "2026-06-05T00:00:00.000001Z",
          },
        ],
        ...june,
        next_cursor: null,
      });
      expect(Math.abs(Date.parse(body.agents[0].created_at) - Date.now())).toBeLessThan(60_000);
    });

    it("is empty for an account without agents", async () => {
      const account = await test.makeAccount("free");
      expect(await list(account)).toEqual({ agents: [], ...june, next_cursor: null });
    });

    it("counts from from, which is included, to to, which is not, and shows zeros for agents without traces there", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace({ agent_id: "in", started_at: june.from });
      await account.makeTrace({ agent_id: "after", started_at: june.to });
      await account.makeTrace({ agent_id: "before", started_at: "2026-05-31T23:59:59.999999Z" });
      const { agents } = await list(account);
      expect(agents).toMatchObject([
        { id: "after", traces: none, last_started_at: null },
        { id: "before", traces: none, last_started_at: null },
        { id: "in", traces: { ...none, running: 1 } },
      ]);
    });

    it("counts the 30 days up to now where no range is given, or up to to", async () => {
      const account = await test.makeAccount("pro");
      test.setNow(new Date("2026-07-01T12:00:00Z"));
      await account.makeTrace({ agent_id: "in", started_at: "2026-06-01T12:00:00Z" });
      await account.makeTrace({ agent_id: "out", started_at: "2026-06-01T11:59:59.999999Z" });
      const body = await list(account, {});
      expect(body).toMatchObject({ from: "2026-06-01T12:00:00.000Z", to: "2026-07-01T12:00:00.000Z" });
      expect(body.agents).toMatchObject([
        { id: "in", traces: { running: 1 } },
        { id: "out", traces: none },
      ]);
      expect((await list(account, { to: "2026-06-03T02:00:00.000001+02:00" })).from).toBe("2026-05-04T00:00:00.000Z");
      expect((await list(account, { to: "0001-01-02T00:00:00Z" })).from).toBe("0001-01-01T00:00:00.000Z");
      test.setNow(new Date());
    });

    it("lists only agents that are stored: one that only an unfinished OpenTelemetry trace names is none yet", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace({ agent_id: "stored" });
      await test.pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
         VALUES ($1, gen_random_uuid(), 'unknown_service', 'early', 'running', '2026-06-02T00:00:00Z')`,
        [account.id],
      );
      expect((await list(account)).agents).toMatchObject([{ id: "stored", traces: { running: 1 } }]);
    });

    it("goes on by id, over agents of any name, and changes nothing of the figures by its pages", async () => {
      const account = await test.makeAccount("pro");
      const names = ["a", "B", "é", "😀", "a b", "%", '"', "x".repeat(255)];
      for (const agent_id of names) await account.makeTrace({ agent_id });
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await list(account, { ...june, limit: 3, ...(cursor !== null && { cursor }) });
        for (const agent of page.agents) expect(agent.traces.running).toBe(1);
        seen.push(...page.agents.map(({ id }: { id: string }) => id));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(seen).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    });

    it.each([
      [1, 2, true],
      [2, 2, false],
      [3, 2, false],
    ])("with limit %i of %i agents, goes on: %s", async (limit, count, goesOn) => {
      const account = await test.makeAccount("pro");
      for (let n = 0; n < count; n++) await account.makeTrace({ agent_id: `agent ${n}` });
      const page = await list(account, { ...june, limit });
      expect(page.agents).toHaveLength(Math.min(limit, count));
      expect(page.next_cursor !== null).toBe(goesOn);
    });

    it("shows and counts nothing of another account", async () => {
      const [owner, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      await owner.makeTrace({ agent_id: "shared" });
      await owner.makeTrace({ agent_id: "own" });
      await other.makeTrace({ agent_id: "shared", status: "error" });
      expect((await list(other)).agents).toMatchObject([{ id: "shared", traces: { ...none, error: 1 } }]);
    });

    it("answers HEAD as GET", async () => {
      const account = await test.makeAccount("free");
      const answer = await account.head("/api/v1/agents").expect(200);
      expect(Number(answer.headers["content-length"])).toBeGreaterThan(0);
    });
  });

  describe("400", () => {
    it("answers a parameter that there is not, and names those that there are", async () => {
      const account = await test.makeAccount("pro");
      const { body } = await account.get("/api/v1/agents?status=error&form=2026-01-01T00:00:00Z").expect(400);
      expect(body.fields).toEqual({
        status:
          "Unknown parameter; allowed are: from, to, include, session_id, user_id, environment, release, tag, limit, cursor",
        form: "Unknown parameter; did you mean from?",
      });
    });

    it.each([
      ["limit=0", "limit", /1 to 200/],
      ["limit=201", "limit", /1 to 200/],
      ["from=soon", "from", /ISO 8601/],
      ["from=9999-01-01T00:00:00Z", "from", /before now/],
      ["to=now", "to", /ISO 8601/],
      ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to", /after from/],
      ["cursor=", "cursor", /next_cursor/],
      ["cursor=AA", "cursor", /next_cursor/],
      ["cursor=a&cursor=b", "cursor", /next_cursor/],
    ])("says what is allowed for %s", async (query, field, message) => {
      const account = await test.makeAccount("free");
      const answer = await account.get(`/api/v1/agents?${query}`).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields: { [field]: expect.stringMatching(message) } });
    });

    it("is never 5xx, whatever the cursor", async () => {
      const account = await test.makeAccount("free");
      const encode = (text: string) => Buffer.from(text).toString("base64url");
      const text = fc.string({ unit: "binary" });
      await fc.assert(
        fc.asyncProperty(fc.oneof(fc.string(), text.map(encode)), async (cursor) => {
          expect([200, 400]).toContain((await account.get("/api/v1/agents").query({ cursor })).status);
        }),
        randomRuns(40),
      );
    });

    it("names from where the range holds too many traces to count", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      // In portions, so a busy machine finishes each statement in time.
      const insert = async (count: number, portion = 25_000) => {
        for (let left = count; left > 0; left -= portion) {
          await test.pool.query(
            `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
             SELECT $1, gen_random_uuid(), 'agent', 'n', 'success', '2026-06-02T00:00:00Z' FROM generate_series(1, $2::int)`,
            [account.id, Math.min(left, portion)],
          );
        }
      };
      await insert(maxCountedTraces - 1);
      expect((await list(account)).agents).toMatchObject([{ traces: { running: 1, success: maxCountedTraces - 1 } }]);
      await insert(1);
      const answer = await account.get("/api/v1/agents").query(june).expect(400);
      expect(answer.body.fields).toEqual({ from: expect.stringMatching(/later: more than 250,000 traces/) });
      await list(account, { ...june, from: "2026-06-02T00:00:00.000001Z" });
      const query = { accountId: account.id, ...june, after: "agent", limit: 1 };
      expect(await listAgents(test.pool, query)).toEqual({ agents: [], ...june, next_cursor: null });
    });
  });
});
