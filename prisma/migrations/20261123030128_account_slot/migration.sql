-- Decides about the account's cell. Keys of accounts from before carry no slot, so they are in slot 00.
ALTER TABLE "account" ADD COLUMN "slot" text COLLATE "C" NOT NULL DEFAULT '00' CHECK ("slot" ~ '^[0-9a-f]{2}$');
