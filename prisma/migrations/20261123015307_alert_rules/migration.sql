-- Rules about an agent's failure rate. prisma/README.md says why.
CREATE TABLE "alert_rule" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "above_percent" numeric(6, 3) NOT NULL,
  "of_traces" integer NOT NULL,
  "within_seconds" integer NOT NULL,
  "is_crossed" boolean NOT NULL DEFAULT false,
  "changed_at" timestamptz(6),
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "alert_rule_pkey" PRIMARY KEY ("account_id", "id")
);
-- The command line knows a rule's id alone.
CREATE UNIQUE INDEX "alert_rule_id_key" ON "alert_rule" ("id");
