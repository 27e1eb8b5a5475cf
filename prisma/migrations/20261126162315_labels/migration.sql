-- What a trace is found by. Rows stay as they are.
ALTER TABLE "trace"
  ADD COLUMN "session_id" text COLLATE "C",
  ADD COLUMN "user_id" text COLLATE "C",
  ADD COLUMN "environment" text COLLATE "C",
  ADD COLUMN "release" text COLLATE "C",
  ADD COLUMN "tags" text[] COLLATE "C" NOT NULL DEFAULT '{}',
  ADD COLUMN "label_origins" smallint;
CREATE OR REPLACE TRIGGER "trace_change_noted"
  AFTER UPDATE OF "agent_id", "name", "status", "started_at", "ended_at", "session_id", "user_id", "environment", "release", "tags"
  ON "trace" FOR EACH ROW WHEN (OLD.written_at < now() - interval '30 minutes') EXECUTE FUNCTION "note_trace_change"();
