-- A move or a restore copies the notes of changes too: with one by the trigger, the rows of both databases would differ.
DROP TRIGGER "span_change_noted" ON "span";
CREATE TRIGGER "span_change_noted" AFTER INSERT OR UPDATE OF "name", "input", "output", "error" ON "span"
  FOR EACH ROW WHEN (NEW.trace_id <
    rpad(lpad(to_hex((date_part('epoch', now()) * 1000)::bigint - 1800000), 12, '0'), 32, '0')::uuid
    AND current_setting('waymark.copies_rows', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION "note_trace_change"('span');
