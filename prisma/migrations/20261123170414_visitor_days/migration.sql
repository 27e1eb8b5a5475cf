-- Third step: the present table becomes the first partition. The validated check spares ATTACH from reading it.
ALTER TABLE "daily_visitor" RENAME TO "daily_visitor_before";
ALTER TABLE "daily_visitor_before" RENAME CONSTRAINT "daily_visitor_pkey" TO "daily_visitor_before_pkey";
CREATE TABLE "daily_visitor" (
  LIKE "daily_visitor_before" INCLUDING ALL EXCLUDING INDEXES,
  CONSTRAINT "daily_visitor_pkey" PRIMARY KEY ("site_id", "day", "visitor")
) PARTITION BY RANGE ("day");
ALTER TABLE "daily_visitor" DROP CONSTRAINT "visitor_day";
-- Takes rows of days without a partition: an import's old days, and new ones while the worker is away.
CREATE TABLE "daily_visitor_default" PARTITION OF "daily_visitor" DEFAULT WITH (fillfactor = 80);

-- Services of the version before go on with the rights that they had.
DO $$
DECLARE
  held record;
BEGIN
  FOR held IN
    SELECT grantee::regrole::text AS role, string_agg(privilege_type, ', ') AS privileges
    FROM pg_class, aclexplode(relacl)
    WHERE oid = 'public.daily_visitor_before'::regclass AND grantee <> relowner AND grantee <> 0 GROUP BY grantee
  LOOP
    EXECUTE format('GRANT %s ON "daily_visitor" TO %s', held.privileges, held.role);
  END LOOP;
END
$$;

-- The partitions with their bounds; null where one has none.
CREATE VIEW "visitor_partition" AS
  SELECT c.relname::text AS name, (regexp_match(bound, 'FROM \(''([^'']+)'))[1]::date AS first,
    (regexp_match(bound, 'TO \(''([^'']+)'))[1]::date AS until
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
  WHERE i.inhparent = 'public.daily_visitor'::regclass;

DO $$
BEGIN
  IF EXISTS (SELECT FROM "daily_visitor_before") THEN
    EXECUTE (
      SELECT format('ALTER TABLE "daily_visitor" ATTACH PARTITION "daily_visitor_before" FOR VALUES FROM (MINVALUE) TO (%L)',
        (regexp_match(pg_get_constraintdef(oid), '''(\d{4}-\d\d-\d\d)'''))[1])
      FROM pg_constraint WHERE conname = 'visitor_day' AND conrelid = 'public.daily_visitor_before'::regclass);
    ALTER TABLE "daily_visitor_before" DROP CONSTRAINT "visitor_day";
  ELSE
    DROP TABLE "daily_visitor_before";
  END IF;
END
$$;

-- Makes a UTC day's partition, with the rows that the default partition holds of it. Several callers at once: one makes it, the
-- others find it made.
CREATE FUNCTION "ensure_visitor_partition"(wanted date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  name text := 'daily_visitor_' || to_char(wanted, 'YYYYMMDD');
BEGIN
  IF EXISTS (
    SELECT FROM "visitor_partition" p WHERE wanted < p.until AND wanted >= COALESCE(p.first, wanted)
  ) THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "daily_visitor_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE "daily_visitor" INCLUDING ALL) WITH (fillfactor = 80)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "daily_visitor_default" WHERE day = %L RETURNING *)
    INSERT INTO public.%I SELECT * FROM moved', wanted, name);
  EXECUTE format('ALTER TABLE "daily_visitor" ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', name, wanted, wanted + 1);
  RETURN true;
END
$$;

-- Drops a partition with its visitors, which the worker does and no other service, with the owner's rights as
-- "drop_event_partition". Takes the locks of DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_visitor_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM "visitor_partition" WHERE name = partition AND until IS NOT NULL) THEN
    RAISE EXCEPTION '% is not a partition of a time', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;

-- Empties the default partition if no site has visitors of the day or later in it. Probes its key once for each site, under a
-- lock for which it waits as long as lock_timeout says.
CREATE FUNCTION "empty_old_visitors"(first_kept date) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE "daily_visitor_default" IN ACCESS EXCLUSIVE MODE;
  IF EXISTS (
    SELECT FROM "site" WHERE EXISTS (SELECT FROM "daily_visitor_default" d WHERE d.site_id = "site".id AND d.day >= first_kept)
  ) THEN RETURN false; END IF;
  TRUNCATE "daily_visitor_default";
  RETURN true;
END
$$;

SELECT ensure_visitor_partition((now() AT TIME ZONE 'UTC')::date + day) FROM generate_series(0, 3) AS day;
