CREATE TABLE "machine_day" (
  "site_id" UUID NOT NULL,
  "day" DATE NOT NULL,
  "machine" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "purpose" TEXT NOT NULL,
  "requests" BIGINT NOT NULL,
  "verified" BIGINT NOT NULL,
  "refuted" BIGINT NOT NULL,
  "errors" BIGINT NOT NULL,
  "missing" BIGINT NOT NULL,
  "blocked" BIGINT NOT NULL,
  "failed" BIGINT NOT NULL,
  CONSTRAINT "machine_day_pkey" PRIMARY KEY ("site_id", "day", "machine", "path")
);

CREATE TABLE "machine_line" (
  "site_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  CONSTRAINT "machine_line_pkey" PRIMARY KEY ("site_id", "id")
);
