-- The table of kinds in packages/alerts is the one list of channels' kinds; a second list here would need a migration for each.
ALTER TABLE "channel" DROP CONSTRAINT "channel_kind_check";
