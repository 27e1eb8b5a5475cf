import { describe, expect, it } from "@jest/globals";
import { spanBody, useApp } from "../app.fixture.js";

describe("conversations and users", () => {
  const test = useApp();

  async function tell(label: object, { status = "success", minute = 0, text = "hi" } = {}) {
    const started_at = `2026-06-01T12:0${minute}:00.000Z`;
    const id = await account.makeTrace({ status, started_at, ended_at: `2026-06-01T12:0${minute}:30.000Z`, ...label });
    const body = spanBody({ input: text, output: `answer to ${text}`, started_at });
    await account.post(`/api/v1/traces/${id}/spans`, body).expect(201);
    return id;
  }
  let account = undefined as unknown as Awaited<ReturnType<typeof test.makeAccount>>;

  it("are listed with their sums, the latest first, and read as one", async () => {
    account = await test.makeAccount("pro");
    const session_id = "chat/7 ü";
    const first = await tell({ session_id, user_id: "ann", environment: "production" }, { text: "one" });
    const second = await tell({ session_id, user_id: "ann" }, { status: "error", minute: 1, text: "two" });
    await tell({ session_id: "other", user_id: "bob" }, { minute: 2 });
    await tell({});
    const { body } = await account.get("/api/v1/sessions").expect(200);
    const noTokens = { input_tokens: 0, output_tokens: 0, cost_usd: null };
    const summary = {
      user_id: "ann",
      failures: 1,
      first_at: "2026-06-01T12:00:00.000Z",
      last_at: "2026-06-01T12:01:30.000Z",
      ...noTokens,
    };
    expect(body.sessions).toEqual([
      expect.objectContaining({ id: "other", user_id: "bob", traces: 1, failures: 0 }),
      { id: session_id, traces: 2, ...summary },
    ]);
    expect(body.next_cursor).toBeNull();
    const users = (await account.get("/api/v1/users?environment=production").expect(200)).body.users;
    expect(users).toEqual([expect.objectContaining({ id: "ann", sessions: 1, traces: 1 })]);
    const one = (await account.get(`/api/v1/sessions/${encodeURIComponent(session_id)}`).expect(200)).body;
    expect(one).toMatchObject({ id: session_id, ...summary, next_cursor: null });
    expect(one.traces).toMatchObject([
      { id: first, input: "one", output: "answer to one", ...noTokens },
      { id: second, input: "two", output: "answer to two", status: "error" },
    ]);
  });

  it("go on from a cursor", async () => {
    const page = (await account.get("/api/v1/sessions?limit=1").expect(200)).body;
    const next = (await account.get(`/api/v1/sessions?limit=1&cursor=${page.next_cursor}`).expect(200)).body;
    expect([...page.sessions, ...next.sessions].map(({ id }: { id: string }) => id)).toEqual(["other", "chat/7 ü"]);
    const path = `/api/v1/sessions/${encodeURIComponent("chat/7 ü")}?limit=1`;
    const turn = (await account.get(path).expect(200)).body;
    const last = (await account.get(`${path}&cursor=${turn.next_cursor}`).expect(200)).body;
    expect([...turn.traces, ...last.traces].map(({ input }: { input: string }) => input)).toEqual(["one", "two"]);
    expect(last.next_cursor).toBeNull();
  });

  it("are those of an agent, a user, an environment or some days, with the sums of these traces alone", async () => {
    account = await test.makeAccount("pro");
    await tell({ session_id: "s1", user_id: "ann", agent_id: "a", environment: "live" });
    await tell({ session_id: "s1", user_id: "ann", agent_id: "b" }, { minute: 1, status: "error" });
    await tell({ session_id: "s2", user_id: "bob", agent_id: "b", environment: "live" }, { minute: 2 });
    const find = async (query: string) => {
      const { sessions } = (await account.get(`/api/v1/sessions?${query}`).expect(200)).body;
      return sessions.map(({ id, traces, failures }: Record<string, unknown>) => [id, traces, failures]);
    };
    const findUsers = async (query: string) => {
      const { users } = (await account.get(`/api/v1/users?${query}`).expect(200)).body;
      return users.map(({ id, sessions, traces }: Record<string, unknown>) => [id, sessions, traces]);
    };
    const cases = {
      "agent_id=a": { sessions: [["s1", 1, 0]], users: [["ann", 1, 1]] },
      "agent_id=b": {
        sessions: [
          ["s2", 1, 0],
          ["s1", 1, 1],
        ],
        users: [
          ["bob", 1, 1],
          ["ann", 1, 1],
        ],
      },
      "environment=live&agent_id=b": { sessions: [["s2", 1, 0]], users: [["bob", 1, 1]] },
      "from=2026-06-01T12:01:00Z&to=2026-06-01T12:02:00Z": { sessions: [["s1", 1, 1]], users: [["ann", 1, 1]] },
    };
    for (const [query, { sessions, users }] of Object.entries(cases)) {
      expect({ query, sessions: await find(query), users: await findUsers(query) }).toEqual({ query, sessions, users });
    }
    expect(await find("user_id=ann")).toEqual([["s1", 2, 1]]);
    expect(await find("user_id=nobody")).toEqual([]);
  });

  it("are refused where they are not the account's, or asked wrongly", async () => {
    const stranger = await test.makeAccount("pro");
    await stranger.get("/api/v1/sessions/other").expect(404, { error: "Session not found" });
    await account.get("/api/v1/sessions/%00").expect(404);
    const { body } = await account.get("/api/v1/users?limit=0&environment=&user_id=a").expect(400);
    expect(Object.keys(body.fields).sort()).toEqual(["environment", "limit", "user_id"]);
  });
});
