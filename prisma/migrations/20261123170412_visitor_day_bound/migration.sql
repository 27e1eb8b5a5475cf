-- Visitors in partitions by day, first step of three: which rows the present table keeps. prisma/README.md says why.
-- The bound is two weeks ahead, so new rows go on fitting until the third step. It reads one index and moves no row.
DO $$
DECLARE
  newest date := (SELECT max(day) FROM "daily_visitor");
  bound date := GREATEST((now() AT TIME ZONE 'UTC')::date, newest) + 15;
BEGIN
  EXECUTE format('ALTER TABLE "daily_visitor" ADD CONSTRAINT "visitor_day" CHECK (day < %L) NOT VALID', bound);
END
$$;
