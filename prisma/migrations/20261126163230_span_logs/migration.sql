-- Log records of OpenTelemetry that name a span: they wait a day for it, or have completed it. Both partial indexes hold the
-- waiting ones alone.
CREATE TABLE "span_log" (
  "account_id" uuid NOT NULL,
  "otel_trace_id" bytea NOT NULL,
  "span_id" bytea NOT NULL,
  "id" uuid NOT NULL,
  "nanos" bigint NOT NULL,
  "place" integer NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "has_content" boolean NOT NULL,
  "event" json NOT NULL,
  "input" json,
  "output" json,
  "error" text COLLATE "C",
  "bytes" integer NOT NULL,
  "is_used" boolean NOT NULL DEFAULT false,
  "since" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "span_log_pkey" PRIMARY KEY ("account_id", "otel_trace_id", "span_id", "id")
);
CREATE INDEX "span_log_since_idx" ON "span_log" ("since");
CREATE INDEX "span_log_unused_idx" ON "span_log" ("account_id", "otel_trace_id", "span_id") WHERE NOT "is_used";
CREATE INDEX "span_log_waiting_idx" ON "span_log" ("account_id", "has_content") WHERE NOT "is_used";
