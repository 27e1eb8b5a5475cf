-- What an account keeps of OpenTelemetry: all traces, or those of agents. Services of earlier releases keep all.
ALTER TABLE "account" ADD COLUMN "keep" text COLLATE "C" NOT NULL DEFAULT 'all' CHECK ("keep" IN ('all', 'agents'));
CREATE TRIGGER "account_keep_changed" AFTER UPDATE OF "keep" ON "account"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('id');
ALTER TABLE "trace_usage" ADD COLUMN "dropped" integer NOT NULL DEFAULT 0;

-- Spans of traces without a span of an agent yet: the trace is neither stored nor counted.
CREATE TABLE "pending_span" (
  "account_id" uuid NOT NULL,
  "otel_trace_id" bytea NOT NULL,
  -- From a hash of the value: a repeated request adds nothing.
  "id" uuid NOT NULL,
  "has_root" boolean NOT NULL,
  "spans" integer NOT NULL,
  "bytes" integer NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "received_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "pending_span_pkey" PRIMARY KEY ("account_id", "otel_trace_id", "id")
);
CREATE INDEX "pending_span_received_at_idx" ON "pending_span" ("received_at");
CREATE INDEX "pending_span_ended_idx" ON "pending_span" ("received_at") WHERE "has_root";
