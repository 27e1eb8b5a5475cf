-- The bytes that an account stored in the month, beside its traces: one lock makes both limits exact.
-- A constant default changes no row, and services of the release before go on counting traces alone.
ALTER TABLE "trace_usage" ADD COLUMN "bytes" bigint NOT NULL DEFAULT 0;
