-- A site of a domain that another account has waits until its account proves the domain; meanwhile the collector gives it no
-- events. Sites of before keep theirs.

ALTER TABLE "site"
  ADD COLUMN "is_proven" boolean NOT NULL DEFAULT true,
  ADD COLUMN "proof_token" text COLLATE "C" NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '');

-- The collector's look-up: waiting sites, of which a domain may have any number, cost it nothing.
CREATE INDEX "site_receiving_idx" ON "site" ("domain", "id") WHERE "is_proven";

-- A deleted site's events and figures, until the worker has removed them. "id" is no "site_id": the erasure must not find it.
CREATE TABLE "deleted_site" (
  "id" uuid NOT NULL,
  "deleted_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "deleted_site_pkey" PRIMARY KEY ("id")
);

-- As before, but a waiting site inherits nothing: its account asks for the free domain itself.
CREATE OR REPLACE FUNCTION "release_site_domain"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  bare text := regexp_replace(OLD.domain, '^(www[.])+', '');
  heir uuid;
BEGIN
  PERFORM FROM site_domain WHERE domain = bare AND account_id = OLD.account_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT account_id INTO heir FROM site WHERE domain IN (bare, 'www.' || bare) AND is_proven
  ORDER BY account_id <> OLD.account_id, id LIMIT 1;
  IF heir IS NULL THEN
    DELETE FROM site_domain WHERE domain = bare;
  ELSIF heir <> OLD.account_id THEN
    UPDATE site_domain SET account_id = heir WHERE domain = bare;
  END IF;
  RETURN NULL;
END
$$;
