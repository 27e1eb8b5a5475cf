-- Conversations and users in the order of lists. Most traces have neither, and cost nothing here.
CREATE INDEX "trace_session_idx" ON "trace" ("account_id", "session_id", "started_at", "id") INCLUDE ("status", "agent_id", "user_id")
  WHERE "session_id" IS NOT NULL;
CREATE INDEX "trace_user_idx" ON "trace" ("account_id", "user_id", "started_at", "id") INCLUDE ("status", "agent_id", "session_id")
  WHERE "user_id" IS NOT NULL;
