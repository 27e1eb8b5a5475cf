-- A shared link shows one site or trace to whoever has its address. Releases before it know no such key.
ALTER TABLE "api_key"
  ADD COLUMN "trace_id" uuid,
  ADD COLUMN "password" text COLLATE "C",
  ADD COLUMN "frame_origins" text[] COLLATE "C" NOT NULL DEFAULT '{}',
  DROP CONSTRAINT "api_key_service_check",
  ADD CONSTRAINT "api_key_service_check" CHECK ("service" IN ('trace', 'analytics', 'share', 'link')),
  DROP CONSTRAINT "api_key_share_check",
  ADD CONSTRAINT "api_key_share_check" CHECK (CASE "service"
    WHEN 'link' THEN ("site_id" IS NULL) <> ("trace_id" IS NULL) AND "expires_at" IS NOT NULL
      AND ("password" IS NULL OR "frame_origins" = '{}')
    ELSE ("service" = 'share') = ("site_id" IS NOT NULL) AND "trace_id" IS NULL AND "password" IS NULL AND "frame_origins" = '{}'
  END);

DROP TRIGGER "api_key_access_changed" ON "api_key";
CREATE TRIGGER "api_key_access_changed"
  AFTER DELETE OR UPDATE OF "revoked_at", "account_id", "service", "hash", "site_id", "expires_at", "scope", "trace_id", "password", "frame_origins"
  ON "api_key" FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');
