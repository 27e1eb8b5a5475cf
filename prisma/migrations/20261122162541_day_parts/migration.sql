-- Finished days as columns, for filters, goals and funnels. prisma/README.md says why.
CREATE TABLE "day_part" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "part" integer NOT NULL,
  "version" text COLLATE "C" NOT NULL,
  "visits" bytea NOT NULL,
  "pages" bytea NOT NULL,
  "times" bytea NOT NULL,
  "details" bytea NOT NULL,
  CONSTRAINT "day_part_pkey" PRIMARY KEY ("site_id", "day", "part")
);

-- Plain bytes: decompressing them would take longer than all that is done with them.
ALTER TABLE "day_part"
  ALTER COLUMN "visits" SET STORAGE EXTERNAL,
  ALTER COLUMN "pages" SET STORAGE EXTERNAL,
  ALTER COLUMN "times" SET STORAGE EXTERNAL,
  ALTER COLUMN "details" SET STORAGE EXTERNAL;
