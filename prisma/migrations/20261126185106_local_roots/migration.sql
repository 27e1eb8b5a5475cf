-- Nullable columns without a default: no row is rewritten, and services of earlier releases go on.
ALTER TABLE "trace"
  ADD COLUMN "is_root_local" boolean,
  ADD COLUMN "has_failed_local_root" boolean;
