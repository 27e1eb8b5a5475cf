-- An account's own mails are deliveries of its own channel; the worker takes over those of releases before. Both indexes are
-- small: summaries that wait to be sent, for metrics, and tests of channels, which count as mails.
CREATE INDEX "delivery_summary_idx" ON "delivery" ("begun_at")
  WHERE "channel_id" = "account_id" AND "type" = 'digest' AND "agent_id" = '' AND "sent_at" IS NULL AND "failed_at" IS NULL;
CREATE INDEX "delivery_test_idx" ON "delivery" ("account_id", "event_id") WHERE "type" = 'test';
