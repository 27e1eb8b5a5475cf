-- Days whose rollups hold figures of another tool's export. No events stand behind them, so a rebuild leaves them alone.
CREATE TABLE "imported_day" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "source" text COLLATE "C" NOT NULL,
  CONSTRAINT "imported_day_pkey" PRIMARY KEY ("site_id", "day")
);
