-- Drops one month of raw events, which the worker does and no other service. Where services have roles of their own
-- (packages/database/src/roles.ts), this function and "ensure_event_partition" run with the owner's rights, since a role that
-- may drop a table otherwise has to own it. Takes the same locks as DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_event_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'public.event'::regclass AND relname = partition AND relname ~ '^event_\d{6}$'
  ) THEN
    RAISE EXCEPTION '% is not the partition of a month', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;
