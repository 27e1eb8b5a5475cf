-- A nullable column without a default: no row is rewritten, and services of earlier releases go on.
ALTER TABLE "score" ADD COLUMN "person_id" uuid;
