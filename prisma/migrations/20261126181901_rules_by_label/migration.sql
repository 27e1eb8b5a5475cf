-- A rule may be about a user or an environment, the cost of one trace, or tokens a minute.
ALTER TABLE "alert_rule"
  ADD COLUMN "user_id" text COLLATE "C",
  ADD COLUMN "environment" text COLLATE "C",
  ADD COLUMN "above_tokens" bigint,
  DROP CONSTRAINT "alert_rule_cost_per_check",
  ADD CONSTRAINT "alert_rule_cost_per_check" CHECK ("cost_per" IN ('day', 'month', 'trace')),
  DROP CONSTRAINT "alert_rule_about_check",
  ADD CONSTRAINT "alert_rule_of_check" CHECK (num_nonnulls("agent_id", "user_id", "environment") <= 1),
  ADD CONSTRAINT "alert_rule_about_check" CHECK (num_nonnulls("above_percent", "above_cost", "above_ms", "above_tokens") = 1 AND CASE
    WHEN "above_percent" IS NOT NULL THEN num_nulls("of_traces", "within_seconds") = 0 AND "cost_per" IS NULL
      AND num_nonnulls("agent_id", "user_id", "environment") = 1
    WHEN "above_cost" IS NOT NULL THEN "cost_per" IS NOT NULL AND num_nonnulls("of_traces", "within_seconds") = 0
    ELSE "within_seconds" IS NOT NULL AND num_nonnulls("of_traces", "cost_per") = 0 END);
