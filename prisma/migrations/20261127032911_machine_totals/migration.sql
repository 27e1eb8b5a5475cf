CREATE TABLE "machine_total" (
  "site_id" UUID NOT NULL,
  "day" DATE NOT NULL,
  "machine" TEXT NOT NULL,
  "purpose" TEXT NOT NULL,
  "requests" BIGINT NOT NULL,
  "verified" BIGINT NOT NULL,
  "refuted" BIGINT NOT NULL,
  "errors" BIGINT NOT NULL,
  "missing" BIGINT NOT NULL,
  "blocked" BIGINT NOT NULL,
  "failed" BIGINT NOT NULL,
  CONSTRAINT "machine_total_pkey" PRIMARY KEY ("site_id", "day", "machine")
);

INSERT INTO "machine_total"
SELECT "site_id", "day", "machine", min("purpose"), sum("requests"), sum("verified"), sum("refuted"), sum("errors"), sum("missing"), sum("blocked"), sum("failed")
FROM "machine_day" GROUP BY "site_id", "day", "machine";

-- Pages are grouped, and the order of a language takes long.
ALTER TABLE "machine_day" ALTER COLUMN "machine" TYPE TEXT COLLATE "C", ALTER COLUMN "path" TYPE TEXT COLLATE "C";
