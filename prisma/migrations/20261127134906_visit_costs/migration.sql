-- Null: the site gives no tokens. Otherwise the last UTC day whose costs are summed. No row is rewritten.
ALTER TABLE "site" ADD COLUMN "costs_until" date;

-- A hash of the token that a trace came with. It goes with the salt of its day; without that nothing leads to a visit.
CREATE TABLE "trace_visit" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "visit" bytea NOT NULL,
  CONSTRAINT "trace_visit_pkey" PRIMARY KEY ("account_id", "trace_id")
);
CREATE INDEX "trace_visit_account_id_visit_idx" ON "trace_visit" ("account_id", "visit");

-- What agents cost for groups of a day's visits, each of five visitors or more.
CREATE TABLE "visit_cost" (
  "site_id" uuid NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "day" date NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "visits" integer NOT NULL,
  "runs" integer NOT NULL,
  "failures" integer NOT NULL,
  "cost" numeric(30, 12) NOT NULL,
  "duration_ms" bigint NOT NULL,
  "conversions" integer NOT NULL,
  "revenue" json NOT NULL,
  CONSTRAINT "visit_cost_pkey" PRIMARY KEY ("site_id", "dimension", "day", "value")
);
