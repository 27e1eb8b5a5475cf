-- Nullable columns without a default: no row is rewritten, and services of earlier releases go on. prisma/README.md says why.

ALTER TABLE "trace"
  ADD COLUMN "status_at" timestamptz(6),
  ADD COLUMN "has_failed_root" boolean;
ALTER TABLE "model_call"
  ADD COLUMN "is_told" boolean,
  ADD COLUMN "counted_part" text COLLATE "C";
