-- Nullable columns without a default: no row is rewritten, and services of earlier releases go on.
ALTER TABLE "channel"
  ADD COLUMN "report" text COLLATE "C",
  ADD COLUMN "reported_until" date,
  ADD CONSTRAINT "channel_report_check" CHECK ("report" IN ('week', 'month') AND "reported_until" IS NOT NULL AND "secret" IS NOT NULL AND "kind" = 'mail' OR "report" IS NULL) NOT VALID;
ALTER TABLE "channel" VALIDATE CONSTRAINT "channel_report_check";
-- The worker asks for what is due.
CREATE INDEX "channel_report_idx" ON "channel" ("report", "reported_until") WHERE "report" IS NOT NULL;
