import type pg from "pg";
import { insertTrace } from "../traces/traces.fixture.js";
import { button, click, heading, type PageState, table } from "./page-state.fixture.js";

/** Two conversations, one with texts of the largest size and of several scripts, and with costs of unlike lengths. */
export async function insertLabelled(pool: pg.Pool, accountId: string): Promise<void> {
  const long = {
    session: "s".repeat(200),
    user: "ü".repeat(200),
    environment: "e".repeat(200),
    release: "r".repeat(200),
  };
  const tags = Array.from({ length: 20 }, (_, n) => `tag-${n}`);
  const chat = { session: "chat-7", user: "u-42", environment: "production", release: "2.1.0" };
  await insertTrace(pool, accountId, { ...long, tags, ago: 60_000, input: "返金をお願いします。".repeat(500) });
  await insertTrace(pool, accountId, { ...chat, ago: 70_000, input: "أعد المال من فضلك", output: "تم." });
  await insertTrace(pool, accountId, {
    ...chat,
    ago: 69_000,
    status: "error",
    error: "refused",
    input: "Are you sure?",
  });
  await pool.query(
    `INSERT INTO model_call
       (account_id, trace_id, span_id, agent_id, started_at, model, input_tokens, output_tokens, cost, counts)
     SELECT t.account_id, t.id, s.id, t.agent_id, t.started_at, 'house-model', 1234567, 89,
       CASE WHEN t.session_id = 'chat-7' THEN 0.00000123 ELSE 12345.678 END, true
     FROM trace t JOIN span s ON s.account_id = t.account_id AND s.trace_id = t.id
     WHERE t.account_id = $1 AND t.session_id IS NOT NULL AND s.name = 'chat'`,
    [accountId],
  );
}

export const conversationPages: Record<string, PageState[]> = {
  "/conversations": [
    { as: "owner", shows: table("Conversations") },
    { state: "labels", as: "member", path: "/conversations?days=7&user=u-42", shows: table("Conversations") },
    { state: "empty", as: "newcomer", shows: heading("No conversations in these days") },
  ],
  "/conversations/:id": [
    { as: "owner", path: "/conversations/chat-7", shows: (page) => page.getByText("Are you sure?") },
    {
      state: "long",
      as: "member",
      path: `/conversations/${"s".repeat(200)}`,
      act: click("Show all"),
      shows: button("Show less"),
    },
  ],
  "/users": [
    { as: "owner", shows: table("Users") },
    { state: "empty", as: "newcomer", shows: heading("No users in these days") },
  ],
};
