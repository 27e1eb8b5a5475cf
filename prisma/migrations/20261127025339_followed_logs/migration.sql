CREATE TABLE "followed_log" (
  "site_id" UUID NOT NULL,
  "path" TEXT NOT NULL,
  "inode" TEXT NOT NULL,
  "place" BIGINT NOT NULL,
  "tail" BYTEA NOT NULL,
  "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "followed_log_pkey" PRIMARY KEY ("site_id", "path")
);
