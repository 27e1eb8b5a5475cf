-- A rule may be about the 95th percentile of the durations of ended traces, of an agent or the account.
ALTER TABLE "alert_rule"
  ADD COLUMN "above_ms" bigint,
  DROP CONSTRAINT "alert_rule_about_check",
  ADD CONSTRAINT "alert_rule_about_check" CHECK (num_nonnulls("above_percent", "above_cost", "above_ms") = 1 AND CASE
    WHEN "above_percent" IS NOT NULL THEN num_nulls("agent_id", "of_traces", "within_seconds") = 0 AND "cost_per" IS NULL
    WHEN "above_cost" IS NOT NULL THEN "cost_per" IS NOT NULL AND num_nonnulls("of_traces", "within_seconds") = 0
    ELSE "within_seconds" IS NOT NULL AND num_nonnulls("of_traces", "cost_per") = 0 END);
