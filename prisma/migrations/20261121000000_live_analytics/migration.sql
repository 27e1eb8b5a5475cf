-- Raw events in partitions by month, further dimensions, one row per visitor and day, and the sizes that bound the lists.
-- prisma/README.md says why.

-- The smallest id whose time is the given one: ids start with the milliseconds since 1970.
CREATE FUNCTION "uuid_floor"(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT rpad(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- What a visitor's row remembers of a value: 64 bits of SHA-256, the same that the writers compute.
CREATE FUNCTION "seen_hash"(dimension text, value text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(dimension || E'\n' || value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

ALTER TABLE "event" RENAME TO "event_before";
ALTER TABLE "event_before" RENAME CONSTRAINT "event_pkey" TO "event_before_pkey";
CREATE TABLE "event" (
  "site_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "at" timestamptz(6) NOT NULL,
  "type" text COLLATE "C" NOT NULL CHECK ("type" IN ('pageview', 'event')),
  "visitor" bigint,
  "path" text COLLATE "C",
  "referrer" text COLLATE "C",
  "source" text COLLATE "C",
  "channel" text COLLATE "C" NOT NULL,
  "country" text COLLATE "C",
  "browser" text COLLATE "C",
  "os" text COLLATE "C",
  "device" text COLLATE "C",
  "utm_source" text COLLATE "C",
  "utm_medium" text COLLATE "C",
  "utm_campaign" text COLLATE "C",
  "name" text COLLATE "C",
  "props" json,
  CONSTRAINT "event_pkey" PRIMARY KEY ("site_id", "id")
) PARTITION BY RANGE ("id");
-- Takes events of months that have no partition yet, so that none is ever refused.
CREATE TABLE "event_default" PARTITION OF "event" DEFAULT;

-- Makes the partition of a UTC month where it is missing, with what the default partition holds of that month. Attaching
-- lets readers and writers of other partitions go on. Several callers at once: one makes it, the others find it made.
CREATE FUNCTION "ensure_event_partition"(month date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first date := date_trunc('month', month)::date;
  name text := 'event_' || to_char(first, 'YYYYMM');
  lower uuid := uuid_floor(first::timestamp AT TIME ZONE 'UTC');
  upper uuid := uuid_floor((first + interval '1 month') AT TIME ZONE 'UTC');
BEGIN
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "event_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE "event" INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "event_default" WHERE id >= %L AND id < %L RETURNING *)
    INSERT INTO %I SELECT * FROM moved', lower, upper, name);
  EXECUTE format('ALTER TABLE "event" ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, lower, upper);
  RETURN true;
END
$$;

SELECT "ensure_event_partition"(month)
FROM (SELECT DISTINCT date_trunc('month', at AT TIME ZONE 'UTC')::date AS month FROM "event_before") AS months;
INSERT INTO "event" (site_id, id, at, type, visitor, path, referrer, source, channel, country, name, props)
SELECT site_id, id, at, type, visitor, path, referrer, source, channel, country, name, props FROM "event_before";

-- One row per visitor and day in place of one per value: what it has seen, and where it came in.
ALTER TABLE "daily_visitor" RENAME TO "daily_visitor_before";
ALTER TABLE "daily_visitor_before" RENAME CONSTRAINT "daily_visitor_pkey" TO "daily_visitor_before_pkey";
CREATE TABLE "daily_visitor" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "visitor" bigint NOT NULL,
  "seen" bigint[] NOT NULL,
  "entry_at" timestamptz(6) NOT NULL,
  "entry_id" uuid NOT NULL,
  "entry_path" text COLLATE "C" NOT NULL,
  CONSTRAINT "daily_visitor_pkey" PRIMARY KEY ("site_id", "day", "visitor")
) WITH (fillfactor = 80);
INSERT INTO "daily_visitor" (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
SELECT site_id, day, visitor, seen, entry.at, entry.id, entry.path
FROM (
  SELECT site_id, day, visitor, array_agg(seen_hash(dimension, value)) FILTER (WHERE dimension <> 'total') AS seen
  FROM "daily_visitor_before" GROUP BY site_id, day, visitor
) AS visits
JOIN (
  SELECT DISTINCT ON (site_id, (at AT TIME ZONE 'UTC')::date, visitor)
    site_id, (at AT TIME ZONE 'UTC')::date AS day, visitor, at, id, path
  FROM "event_before" WHERE type = 'pageview' AND visitor IS NOT NULL
  ORDER BY site_id, (at AT TIME ZONE 'UTC')::date, visitor, at, id
) AS entry USING (site_id, day, visitor);
INSERT INTO "daily_stat" (site_id, dimension, day, value, visitors, pageviews)
SELECT site_id, 'entry', day, entry_path, count(*), 0 FROM "daily_visitor" GROUP BY site_id, day, entry_path;
DROP TABLE "daily_visitor_before";
DROP TABLE "event_before";

-- How many values a day's lists hold, which is what bounds them.
CREATE TABLE "daily_size" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "values" integer NOT NULL,
  CONSTRAINT "daily_size_pkey" PRIMARY KEY ("site_id", "day", "dimension")
);
INSERT INTO "daily_size" (site_id, day, dimension, "values")
SELECT site_id, day, dimension, count(*) FROM "daily_stat" GROUP BY site_id, day, dimension
UNION ALL
SELECT site_id, day, 'event', count(*) FROM "daily_event" GROUP BY site_id, day;

-- How the collector finds the sites of a domain.
CREATE INDEX "site_domain_idx" ON "site" ("domain");
