-- Nullable columns without a default: no row is rewritten, and services of earlier releases go on.
ALTER TABLE "failure" ADD COLUMN "resolved_at" timestamptz(6), ADD COLUMN "assigned_to" uuid;
