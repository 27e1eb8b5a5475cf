-- Who invites, and the channel that a link confirms. No foreign keys: a link outlives neither its account nor seven days.
ALTER TABLE "one_time_link"
  ADD COLUMN "invited_by" uuid,
  ADD COLUMN "channel_id" uuid,
  DROP CONSTRAINT "one_time_link_purpose_check",
  ADD CONSTRAINT "one_time_link_purpose_check" CHECK ("purpose" IN ('verify', 'reset', 'invite', 'sign_in', 'channel'));

-- A mail channel of a stranger's address waits for its link. Channels of before keep what they get.
ALTER TABLE "channel" ADD COLUMN "is_confirmed" boolean NOT NULL DEFAULT true;

-- A domain that two accounts ask for delivers to nobody before a proof. Holders of before count as proven, so nothing stops.
ALTER TABLE "site_domain" ADD COLUMN "is_proven" boolean NOT NULL DEFAULT true;
ALTER TABLE "site_domain" ALTER COLUMN "is_proven" SET DEFAULT false;
