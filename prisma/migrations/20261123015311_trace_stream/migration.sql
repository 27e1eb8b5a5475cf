-- The transaction that created a trace or changed its status last, for the live stream. prisma/README.md says why.
-- The default is set apart from the column, so no row is rewritten; existing rows stay null and outside the index.
ALTER TABLE "trace" ADD COLUMN "status_txid" bigint;
ALTER TABLE "trace" ALTER COLUMN "status_txid" SET DEFAULT txid_current();
CREATE INDEX "trace_stream_idx" ON "trace" ("account_id", "status_txid") WHERE "status_txid" IS NOT NULL;
