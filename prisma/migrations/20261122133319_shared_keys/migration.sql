-- Keys that read one site's statistics, until a moment where they have one. prisma/README.md says why.

ALTER TABLE "api_key"
  ADD COLUMN "site_id" uuid,
  ADD COLUMN "expires_at" timestamptz(6),
  DROP CONSTRAINT "api_key_service_check",
  -- A release without shared keys looks for 'analytics', and so refuses them; it would let them read every site.
  ADD CONSTRAINT "api_key_service_check" CHECK ("service" IN ('trace', 'analytics', 'share')),
  ADD CONSTRAINT "api_key_share_check" CHECK (("service" = 'share') = ("site_id" IS NOT NULL)),
  ADD CONSTRAINT "api_key_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The deletion of a site finds its keys.
CREATE INDEX "api_key_site_id_idx" ON "api_key" ("site_id") WHERE "site_id" IS NOT NULL;

DROP TRIGGER "api_key_access_changed" ON "api_key";
CREATE TRIGGER "api_key_access_changed"
  AFTER DELETE OR UPDATE OF "revoked_at", "account_id", "service", "hash", "site_id", "expires_at" ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');
