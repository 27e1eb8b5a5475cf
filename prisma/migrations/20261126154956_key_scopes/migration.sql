-- What a key of the trace API may do. Releases before it let every key do everything.
ALTER TABLE "api_key"
  ADD COLUMN "scope" text COLLATE "C" NOT NULL DEFAULT 'all',
  ADD CONSTRAINT "api_key_scope_check" CHECK ("scope" IN ('ingest', 'read', 'all') AND ("scope" = 'all' OR "service" = 'trace'));

DROP TRIGGER "api_key_access_changed" ON "api_key";
CREATE TRIGGER "api_key_access_changed"
  AFTER DELETE OR UPDATE OF "revoked_at", "account_id", "service", "hash", "site_id", "expires_at", "scope" ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');
