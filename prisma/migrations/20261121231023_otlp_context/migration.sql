-- Resources and scopes once per trace, agents that are not settled yet, and traces that must not come back.
-- prisma/README.md says why. All columns are added without rewriting a table.

-- A resource or a scope of an OpenTelemetry trace, which its spans refer to by the first 64 bits of its SHA-256. The trace
-- API writes and reads it. It goes with its trace: by DELETE, by retention, and with its account.
CREATE TABLE "trace_context" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "id" bigint NOT NULL,
  "value" json NOT NULL,
  "bytes" integer NOT NULL,
  CONSTRAINT "trace_context_pkey" PRIMARY KEY ("account_id", "trace_id", "id")
);

-- Null in spans that are not from OpenTelemetry, and in older ones, whose `attributes` hold resource and scope themselves.
ALTER TABLE "span" ADD COLUMN "resource_id" bigint, ADD COLUMN "scope_id" bigint;

-- Whether only traces whose root has not come name the agent: it gives way to the first one that is settled. Only
-- accounts whose number of agents is limited have such an agent, and one at most. The trace API writes and reads it.
ALTER TABLE "agent" ADD COLUMN "is_provisional" boolean NOT NULL DEFAULT false;

-- OpenTelemetry traces that were deleted, so that an exporter that repeats a batch does not bring them back. The trace API
-- writes it in the statement that deletes the trace, and reads it; the worker removes old rows, and an account's with it.
CREATE TABLE "deleted_otel_trace" (
  "account_id" uuid NOT NULL,
  "otel_trace_id" bytea NOT NULL CHECK (length("otel_trace_id") = 16),
  "deleted_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "deleted_otel_trace_pkey" PRIMARY KEY ("account_id", "otel_trace_id")
);
CREATE INDEX "deleted_otel_trace_deleted_at_idx" ON "deleted_otel_trace" ("deleted_at");
