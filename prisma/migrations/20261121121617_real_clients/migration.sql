-- Traces that OpenTelemetry sends, safe retries, finding traces, and runs that die silently. prisma/README.md says why.

-- `otel_trace_id` is the id that OpenTelemetry gave the run; all requests that carry its spans meet at the unique index.
-- `root_span_id` is the span that decided name, status and end, null until it came. `written_at` is the last write of the
-- row itself; a run's last write is the latest of its trace's and its spans'.
ALTER TABLE "trace"
  ADD COLUMN "otel_trace_id" bytea CHECK (length("otel_trace_id") = 16),
  ADD COLUMN "root_span_id" uuid,
  ADD COLUMN "written_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP;
CREATE UNIQUE INDEX "trace_otel_trace_id_key" ON "trace" ("account_id", "otel_trace_id") WHERE "otel_trace_id" IS NOT NULL;

-- Newest first, with what lists filter and count by, so that these are answered from the index alone. The condition holds
-- for every row; it keeps the index from statements that bound no start, for which the planner, as long as it knows nothing
-- of the table, holds it as good as the primary key.
CREATE INDEX "trace_listing_idx" ON "trace" ("account_id", "started_at", "id") INCLUDE ("status", "agent_id")
  WHERE "started_at" IS NOT NULL;

-- The runs that nobody finished yet. It stays small, since finished traces leave it.
CREATE INDEX "trace_running_idx" ON "trace" ("account_id", "id") WHERE "status" = 'running';

-- `attributes` is what a span says beyond the contract's fields: an object, as text.
ALTER TABLE "span"
  ADD COLUMN "attributes" json,
  ADD COLUMN "written_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- What a request with an `Idempotency-Key` was answered: the ids that it made. Written in the statement that stores them.
CREATE TABLE "idempotency_key" (
  "account_id" uuid NOT NULL,
  "key" text COLLATE "C" NOT NULL,
  "request_hash" bytea NOT NULL CHECK (length("request_hash") = 32),
  "ids" uuid[] NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("account_id", "key")
);
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key" ("created_at");
