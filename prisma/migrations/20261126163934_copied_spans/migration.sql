-- A move or a restore copies the notes of changes too: with one by the trigger, the rows of both databases would differ.
CREATE OR REPLACE FUNCTION "note_trace_change"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed uuid;
BEGIN
  IF current_setting('waymark.copies_rows', true) = 'on' THEN RETURN NULL; END IF;
  IF TG_NARGS > 0 THEN changed := NEW.trace_id; ELSE changed := NEW.id; END IF;
  PERFORM FROM trace_change WHERE account_id = NEW.account_id AND trace_id = changed LIMIT 1 FOR KEY SHARE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO trace_change (account_id, trace_id) VALUES (NEW.account_id, changed) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END
$$;
