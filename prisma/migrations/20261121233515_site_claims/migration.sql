-- A domain belongs to the account that had a site for it first. `waymark site create` writes the claim in the transaction of
-- the site, and the primary key decides between two accounts that come at once. The collector reads `site` alone.

-- `domain` is without `www.`, since a page at www.example.com also reports to the sites of example.com.
CREATE TABLE "site_domain" (
  "domain" text COLLATE "C" NOT NULL,
  "account_id" uuid NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "site_domain_pkey" PRIMARY KEY ("domain")
);

-- Gives a domain back when its account's last site of it is deleted or renamed, whoever deletes it: to the account of the
-- oldest site that is left, or to nobody. The row is locked first, so that a site that is being created is seen. Probes
-- site_domain_pkey and site_domain_idx. There is no foreign key to `account`: a claim never outlives its sites.
CREATE FUNCTION "release_site_domain"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  bare text := regexp_replace(OLD.domain, '^(www[.])+', '');
  heir uuid;
BEGIN
  PERFORM FROM site_domain WHERE domain = bare AND account_id = OLD.account_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT account_id INTO heir FROM site WHERE domain IN (bare, 'www.' || bare)
  ORDER BY account_id <> OLD.account_id, id LIMIT 1;
  IF heir IS NULL THEN
    DELETE FROM site_domain WHERE domain = bare;
  ELSIF heir <> OLD.account_id THEN
    UPDATE site_domain SET account_id = heir WHERE domain = bare;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER "site_domain_released" AFTER DELETE OR UPDATE OF "domain", "account_id" ON "site"
  FOR EACH ROW EXECUTE FUNCTION "release_site_domain"();

-- Sites of several accounts that share a domain already stay, and so do their events.
INSERT INTO "site_domain" (domain, account_id, created_at)
SELECT DISTINCT ON (regexp_replace(domain, '^(www[.])+', '')) regexp_replace(domain, '^(www[.])+', ''), account_id, created_at
FROM "site" ORDER BY regexp_replace(domain, '^(www[.])+', ''), id;
