-- Nullable columns without a default: no row is rewritten, and services of earlier releases go on.
ALTER TABLE "trace"
  ADD COLUMN "name_origin" bytea,
  ADD COLUMN "told_agent" bytea;
