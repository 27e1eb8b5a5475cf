-- Whether blocks may have the trace: they have those from an hour on. The id has the time of its trace; the expression is
-- "uuid_floor" without its calls. As a function it is read once for a session. In the trigger each statement read it anew, a fifth
-- of what a single span costs.
CREATE FUNCTION "is_settled"("trace_id" uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN trace_id < rpad(lpad(to_hex((date_part('epoch', now()) * 1000)::bigint - 1800000), 12, '0'), 32, '0')::uuid;
END
$$;

CREATE OR REPLACE TRIGGER "span_change_noted" AFTER INSERT OR UPDATE OF "name", "input", "output", "error" ON "span"
  FOR EACH ROW WHEN ("is_settled"(NEW."trace_id")) EXECUTE FUNCTION "note_trace_change"('span');
