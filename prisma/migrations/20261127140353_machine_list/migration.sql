CREATE TABLE "machine_list" (
  "is_stored" BOOLEAN NOT NULL DEFAULT TRUE CHECK ("is_stored"),
  "version" DATE NOT NULL,
  "list" JSON NOT NULL,
  "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now(),
  CONSTRAINT "machine_list_pkey" PRIMARY KEY ("is_stored")
);
