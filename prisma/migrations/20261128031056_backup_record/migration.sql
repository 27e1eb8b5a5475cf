CREATE TABLE "backup_record" (
  "is_stored" BOOLEAN NOT NULL DEFAULT TRUE CHECK ("is_stored"),
  "at" TIMESTAMPTZ(6),
  "verified_at" TIMESTAMPTZ(6),
  CONSTRAINT "backup_record_pkey" PRIMARY KEY ("is_stored")
);
