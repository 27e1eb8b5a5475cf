-- Spans in partitions by week, first step of three: which rows the present table keeps. prisma/README.md says why.
-- The bound is a Monday two weeks ahead at least, so new spans go on fitting until the third step; no row is read or moved.
DO $$
DECLARE
  newest uuid := (SELECT id FROM "trace" ORDER BY id DESC LIMIT 1);
  newest_at timestamptz := to_timestamp(('x' || left(replace(newest::text, '-', ''), 12))::bit(48)::bigint / 1000.0);
  bound timestamptz := date_trunc('week', GREATEST(now(), newest_at) AT TIME ZONE 'UTC' + interval '3 weeks') AT TIME ZONE 'UTC';
BEGIN
  EXECUTE format('ALTER TABLE "span" ADD CONSTRAINT "span_week" CHECK (trace_id < %L) NOT VALID', uuid_floor(bound));
END
$$;
