-- Limits of failure mails per trace and per account, and the summary that tells of the rest. The trace API inserts alerts and
-- counts further failures in them; the worker reads and writes alerts and summaries; the command line reads both.

-- `failures` counts what an alert stands for: a trace has ten pending alerts at most, and further failures count in the newest.
-- `due_at` is when the next attempt may begin; an attempt moves it ahead while it lasts, so that no other worker begins one.
-- `allowed_at` is when the limits let its own mail go. `held_until` is when the limit opens again that kept its mail back: a
-- summary then tells of it, and `summary_id` is that summary. Constant defaults: no row is rewritten.
ALTER TABLE "alert"
  ADD COLUMN "failures" integer NOT NULL DEFAULT 1,
  ADD COLUMN "due_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ADD COLUMN "allowed_at" timestamptz(6),
  ADD COLUMN "held_until" timestamptz(6),
  ADD COLUMN "summary_id" uuid;

-- A mail that tells of the failed runs of an account whose own mails the limits kept back.
CREATE TABLE "alert_summary" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "due_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "sent_at" timestamptz(6),
  "failed_at" timestamptz(6),
  "attempts" integer NOT NULL DEFAULT 0,
  "last_error" text COLLATE "C",
  CONSTRAINT "alert_summary_pkey" PRIMARY KEY ("account_id", "id")
);
-- The summaries that are owed. It stays small, since those that are settled leave it.
CREATE INDEX "alert_summary_owed_idx" ON "alert_summary" ("due_at") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;

-- What is owed a mail of its own, oldest first: alerts that wait for a summary leave it too.
DROP INDEX "alert_owed_idx";
CREATE INDEX "alert_owed_idx" ON "alert" ("created_at")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NULL;
-- The same by account, by which the worker goes round the accounts.
CREATE INDEX "alert_turn_idx" ON "alert" ("account_id", "due_at")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NULL;
-- What waits for a summary.
CREATE INDEX "alert_held_idx" ON "alert" ("account_id", "held_until")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NOT NULL AND "summary_id" IS NULL;
-- What a summary that is not settled tells of.
CREATE INDEX "alert_summary_id_idx" ON "alert" ("account_id", "summary_id")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "summary_id" IS NOT NULL;
-- The mails of an account's last hour, which its limit counts.
CREATE INDEX "alert_allowed_idx" ON "alert" ("account_id", "allowed_at") WHERE "allowed_at" IS NOT NULL;
-- The alerts of a trace: those pending, and the mails of its last hour.
CREATE INDEX "alert_trace_idx" ON "alert" ("account_id", "trace_id", "id");
