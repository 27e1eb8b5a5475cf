-- Agents whose next success a channel waits for, with the time of their newest failure.
CREATE TABLE "failing_agent" (
  "account_id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "since" timestamptz(6) NOT NULL,
  CONSTRAINT "failing_agent_pkey" PRIMARY KEY ("account_id", "agent_id")
);
