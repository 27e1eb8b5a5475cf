-- Revenue, custom events that are no interaction, and engagement. Constant defaults rewrite no row. prisma/README.md says why.

ALTER TABLE "event"
  ADD COLUMN "revenue_amount" numeric(24, 6),
  ADD COLUMN "revenue_currency" text COLLATE "C",
  ADD COLUMN "is_interactive" boolean NOT NULL DEFAULT true,
  ADD COLUMN "engaged_ms" integer,
  ADD COLUMN "scroll_depth" smallint;

ALTER TABLE "visit"
  ADD COLUMN "end_us" bigint,
  ADD COLUMN "passive_events" integer NOT NULL DEFAULT 0;

ALTER TABLE "daily_stat" ADD COLUMN "engagements" integer NOT NULL DEFAULT 0;
