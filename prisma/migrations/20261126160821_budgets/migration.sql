-- A rule is about the failure rate of an agent, or about the cost of an agent or, without one, of the account.
ALTER TABLE "alert_rule"
  ADD COLUMN "cost_per" text COLLATE "C" CHECK ("cost_per" IN ('day', 'month')),
  ADD COLUMN "above_cost" numeric(24, 6),
  ALTER COLUMN "agent_id" DROP NOT NULL,
  ALTER COLUMN "above_percent" DROP NOT NULL,
  ALTER COLUMN "of_traces" DROP NOT NULL,
  ALTER COLUMN "within_seconds" DROP NOT NULL,
  ADD CONSTRAINT "alert_rule_about_check" CHECK (CASE WHEN "cost_per" IS NULL
    THEN num_nulls("agent_id", "above_percent", "of_traces", "within_seconds") = 0 AND "above_cost" IS NULL
    ELSE num_nonnulls("above_percent", "of_traces", "within_seconds") = 0 AND "above_cost" IS NOT NULL END);
