-- A new table: services of earlier releases do not know it.
CREATE TABLE "saved_view" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "query" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "saved_view_pkey" PRIMARY KEY ("account_id", "id")
);
CREATE UNIQUE INDEX "saved_view_account_id_name_key" ON "saved_view" ("account_id", "name");
