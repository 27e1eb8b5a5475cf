-- Up to 256 traces of an account in the order of their ids, and marks by which a search skips them. A block has the traces
-- after "after_id" up to "last_id".
CREATE TABLE "trace_block" (
  "account_id" uuid NOT NULL,
  "last_id" uuid NOT NULL,
  "after_id" uuid NOT NULL,
  "first_start" timestamptz(6),
  "last_start" timestamptz(6),
  "longest_ms" double precision,
  "statuses" text[] COLLATE "C" NOT NULL,
  "marks" bytea NOT NULL,
  CONSTRAINT "trace_block_pkey" PRIMARY KEY ("account_id", "last_id")
);

-- Traces that may have changed since their block was made. Searches read them until the worker has renewed the block.
CREATE TABLE "trace_change" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "changes" integer NOT NULL DEFAULT 1,
  CONSTRAINT "trace_change_pkey" PRIMARY KEY ("account_id", "trace_id")
);

CREATE FUNCTION "note_trace_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trace_change AS c (account_id, trace_id) VALUES (NEW.account_id, NEW.id)
  ON CONFLICT (account_id, trace_id) DO UPDATE SET changes = (c.changes + 1) % 1000000000;
  RETURN NULL;
END
$$;

-- The worker itself notes traces written within the hour before it makes their block.
CREATE TRIGGER "trace_change_noted" AFTER UPDATE OF "agent_id", "name", "status", "started_at", "ended_at" ON "trace"
  FOR EACH ROW WHEN (OLD.written_at < now() - interval '30 minutes') EXECUTE FUNCTION "note_trace_change"();
