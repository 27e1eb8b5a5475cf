-- The provider's claim decides the role in accounts that people joined by it: so far the first of each.
ALTER TABLE membership ADD COLUMN by_provider BOOLEAN NOT NULL DEFAULT false;

UPDATE membership m SET by_provider = true FROM credential c
WHERE c.person_id = m.person_id AND c.provider <> 'credential' AND NOT EXISTS (
  SELECT FROM membership o
  WHERE o.person_id = m.person_id AND (o.created_at, o.account_id) < (m.created_at, m.account_id));
