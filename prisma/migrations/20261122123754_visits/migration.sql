-- Visits, their figures in the rollups, and the host of an event. prisma/README.md says why.

ALTER TABLE "event" ADD COLUMN "host" text COLLATE "C";

-- Moments are microseconds since the beginning of the UTC day. Columns that change with each event of a visit are in no index,
-- so a visit grows by heap-only updates.
CREATE TABLE "visit" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "visitor" bigint NOT NULL,
  "first_us" bigint NOT NULL,
  "last_us" bigint NOT NULL,
  "entry_us" bigint NOT NULL,
  "entry_id" uuid NOT NULL,
  "exit_us" bigint,
  "exit_id" uuid,
  "views" integer NOT NULL,
  "events" integer NOT NULL,
  "entry_path" text COLLATE "C",
  "exit_path" text COLLATE "C",
  "source" text COLLATE "C",
  "channel" text COLLATE "C" NOT NULL,
  "country" text COLLATE "C",
  "browser" text COLLATE "C",
  "os" text COLLATE "C",
  "device" text COLLATE "C",
  "utm_source" text COLLATE "C",
  "utm_medium" text COLLATE "C",
  "utm_campaign" text COLLATE "C",
  "viewed" bigint[] NOT NULL,
  CONSTRAINT "visit_pkey" PRIMARY KEY ("site_id", "day", "visitor", "first_us")
) WITH (fillfactor = 80);

ALTER TABLE "daily_stat"
  ADD COLUMN "visits" integer NOT NULL DEFAULT 0,
  ADD COLUMN "bounces" integer NOT NULL DEFAULT 0,
  ADD COLUMN "visit_us" bigint NOT NULL DEFAULT 0,
  ADD COLUMN "visit_views" integer NOT NULL DEFAULT 0,
  ADD COLUMN "events" integer NOT NULL DEFAULT 0;

-- A visit's row names its pages and hosts by hash; this index finds their rows.
CREATE INDEX "daily_stat_seen_idx" ON "daily_stat" ("site_id", "day", "seen_hash"("dimension", "value"))
  WHERE "dimension" IN ('page', 'host');

-- Days before this one had lost raw events when visits came, so nothing can count their visits; null for none.
ALTER TABLE "event_horizon" ADD COLUMN "visits_day" date;
UPDATE "event_horizon" SET "visits_day" = "day";
