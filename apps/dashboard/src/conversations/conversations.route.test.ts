import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import type { Conversation, SessionList, UserList } from "./conversations.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;
const session = "chat/7 会話";

async function open() {
  const accountId = await dashboard.makeAccount();
  await insertTrace(pool, accountId, { session, user: "u-1", ago: 60, input: "Refund, please", output: "Of which?" });
  await insertTrace(pool, accountId, { session, user: "u-1", ago: 30, status: "error", error: "refused", input: "7" });
  await insertTrace(pool, accountId, { session: "chat-old", user: "u-2", ago: 40 * 86_400 });
  return { accountId, member: await dashboard.signIn(accountId, "member") };
}

describe("GET /sessions and /users", () => {
  it("200: has those of the last 30 days unless it is asked for others", async () => {
    const { member } = await open();
    const sessions: SessionList = (await member.get("/sessions").expect(200)).body;
    expect(sessions).toMatchObject({ sessions: [{ id: session, user_id: "u-1", traces: 2, failures: 1 }] });
    const users: UserList = (await member.get("/users").expect(200)).body;
    expect(users).toMatchObject({ users: [{ id: "u-1", sessions: 1, traces: 2, failures: 1 }] });
    for (const list of ["sessions", "users"])
      expect((await member.get(`/${list}?from=2020-01-01T00:00:00Z`).expect(200)).body[list]).toHaveLength(2);
    expect((await member.get("/sessions?user_id=u-2").expect(200)).body.sessions).toEqual([]);
  });

  it("200: has nothing of another account", async () => {
    await open();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    await other.get("/sessions").expect(200, { sessions: [], next_cursor: null });
    await other.get("/users").expect(200, { users: [], next_cursor: null });
  });

  it("400: names a wrong parameter", async () => {
    const { member } = await open();
    for (const list of ["sessions", "users"])
      expect(Object.keys((await member.get(`/${list}?from=x`).expect(400)).body.fields)).toEqual(["from"]);
  });
});

describe("GET /sessions/:session_id", () => {
  it("200: has the traces in order with what was said, and the errors of those that failed", async () => {
    const { member } = await open();
    const path = `/sessions/${encodeURIComponent(session)}`;
    const conversation: Conversation = (await member.get(path).expect(200)).body;
    expect(conversation).toMatchObject({
      id: session,
      failures: 1,
      traces: [
        { status: "success", input: "Refund, please", output: "Of which?", error: null },
        { status: "error", input: "7", output: null, error: "refused" },
      ],
      next_cursor: null,
    });
    const page: Conversation = (await member.get(`${path}?limit=1`).expect(200)).body;
    const rest: Conversation = (await member.get(`${path}?limit=1&cursor=${page.next_cursor}`).expect(200)).body;
    expect([...page.traces, ...rest.traces]).toEqual(conversation.traces);
  });

  it("404: for another account's, and a text that is no id", async () => {
    await open();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    for (const id of [session, "a\0b"]) await other.get(`/sessions/${encodeURIComponent(id)}`).expect(404);
  });
});
