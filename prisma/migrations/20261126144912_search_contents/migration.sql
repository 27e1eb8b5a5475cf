-- A Bloom filter of the grams in the names, inputs, outputs and errors of a block's traces; null until the worker has read them.
-- A search reads a few bytes of it, so it is stored apart from the row and not compressed.
ALTER TABLE "trace_block" ADD COLUMN "contents" bytea;
ALTER TABLE "trace_block" ALTER COLUMN "contents" SET STORAGE EXTERNAL;
CREATE INDEX "trace_block_bare_idx" ON "trace_block" ("account_id", "last_id") WHERE "contents" IS NULL;

-- A note belongs to a transaction, so that writers of one trace never wait for each other. Releases before read the number of
-- changes as this one does: it tells notes apart.
ALTER TABLE "trace_change" ALTER COLUMN "changes" SET DEFAULT (txid_current() % 1000000000)::integer;
ALTER TABLE "trace_change" DROP CONSTRAINT "trace_change_pkey";
ALTER TABLE "trace_change" ADD CONSTRAINT "trace_change_pkey" PRIMARY KEY ("account_id", "trace_id", "changes");

-- A note that this transaction can lock says enough: the worker locks notes before it reads what changed, so it takes this one
-- after the commit. With the argument, the row is a span.
CREATE OR REPLACE FUNCTION "note_trace_change"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed uuid;
BEGIN
  -- A move or a restore copies the notes too: with one by the trigger, the rows of both databases would differ.
  IF current_setting('waymark.copies_rows', true) = 'on' THEN RETURN NULL; END IF;
  IF TG_NARGS > 0 THEN changed := NEW.trace_id; ELSE changed := NEW.id; END IF;
  PERFORM FROM trace_change WHERE account_id = NEW.account_id AND trace_id = changed LIMIT 1 FOR KEY SHARE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO trace_change (account_id, trace_id) VALUES (NEW.account_id, changed) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END
$$;

-- Blocks have traces from an hour on. The id has the time of its trace; the expression is "uuid_floor" without its calls.
CREATE TRIGGER "span_change_noted" AFTER INSERT OR UPDATE OF "name", "input", "output", "error" ON "span"
  FOR EACH ROW WHEN (NEW.trace_id <
    rpad(lpad(to_hex((date_part('epoch', now()) * 1000)::bigint - 1800000), 12, '0'), 32, '0')::uuid)
  EXECUTE FUNCTION "note_trace_change"('span');
