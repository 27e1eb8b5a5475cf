-- Third step: the present table becomes the first partition. The validated check spares ATTACH from reading it.
ALTER TABLE "span" RENAME TO "span_before";
ALTER TABLE "span_before" RENAME CONSTRAINT "span_pkey" TO "span_before_pkey";
CREATE TABLE "span" (
  LIKE "span_before" INCLUDING ALL EXCLUDING INDEXES,
  CONSTRAINT "span_pkey" PRIMARY KEY ("account_id", "trace_id", "id")
) PARTITION BY RANGE ("trace_id");
ALTER TABLE "span" DROP CONSTRAINT "span_week";
-- Takes spans of weeks without a partition, so that none is ever refused.
CREATE TABLE "span_default" PARTITION OF "span" DEFAULT;

-- The partitions with their bounds; null where one has none.
CREATE VIEW "span_partition" AS
  SELECT c.relname::text AS name, (regexp_match(bound, 'FROM \(''([^'']+)'))[1]::uuid AS first,
    (regexp_match(bound, 'TO \(''([^'']+)'))[1]::uuid AS until
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
  WHERE i.inhparent = 'public.span'::regclass;

DO $$
BEGIN
  IF EXISTS (SELECT FROM "span_before") THEN
    EXECUTE (
      SELECT format('ALTER TABLE "span" ATTACH PARTITION "span_before" FOR VALUES FROM (MINVALUE) TO (%L)',
        (regexp_match(pg_get_constraintdef(oid), '''([0-9a-f-]{36})'''))[1])
      FROM pg_constraint WHERE conname = 'span_week' AND conrelid = 'public.span_before'::regclass);
    ALTER TABLE "span_before" DROP CONSTRAINT "span_week";
  ELSE
    DROP TABLE "span_before";
  END IF;
END
$$;

-- Makes the partition of a UTC day's week, which begins on Monday, with the spans that the default partition holds of it.
-- Several callers at once: one makes it, the others find it made.
CREATE FUNCTION "ensure_span_partition"(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  monday timestamptz := date_trunc('week', day::timestamp) AT TIME ZONE 'UTC';
  first_id uuid := uuid_floor(monday);
  until_id uuid := uuid_floor(monday + interval '168 hours');
  name text := 'span_' || to_char(monday AT TIME ZONE 'UTC', 'YYYYMMDD');
BEGIN
  -- Within another partition it needs none.
  IF EXISTS (
    SELECT FROM "span_partition" p WHERE first_id < p.until AND until_id > COALESCE(p.first, first_id)
  ) THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "span_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE "span" INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "span_default" WHERE trace_id >= %L AND trace_id < %L RETURNING *)
    INSERT INTO public.%I SELECT * FROM moved', first_id, until_id, name);
  EXECUTE format('ALTER TABLE "span" ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', name, first_id, until_id);
  RETURN true;
END
$$;

-- Drops the spans of a partition, which the worker does and no other service, with the owner's rights as
-- "drop_event_partition". Takes the locks of DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_span_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM "span_partition" WHERE name = partition AND until IS NOT NULL) THEN
    RAISE EXCEPTION '% is not a partition of a time', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;

SELECT ensure_span_partition((now() AT TIME ZONE 'UTC')::date + 7 * week) FROM generate_series(0, 2) AS week;
