-- Under `keep = 'agents'` the instrumentations whose spans are left out. Services of earlier releases leave none out.
ALTER TABLE "account" ADD COLUMN "leave_out" text[] COLLATE "C" NOT NULL DEFAULT '{}';
DROP TRIGGER "account_keep_changed" ON "account";
CREATE TRIGGER "account_keep_changed" AFTER UPDATE OF "keep", "leave_out" ON "account"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('id');

-- The name of a root that has ended, to tell what was dropped.
ALTER TABLE "pending_span" ADD COLUMN "root_name" text COLLATE "C";

-- Traces that were not kept by the name of their root; an empty name has the rest.
CREATE TABLE "dropped_name" (
  "account_id" uuid NOT NULL,
  "month" date NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "traces" integer NOT NULL,
  CONSTRAINT "dropped_name_pkey" PRIMARY KEY ("account_id", "month", "name")
);
