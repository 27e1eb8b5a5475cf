-- Rows stay as they are: readers take null for an unknown kind.
ALTER TABLE "span" ADD COLUMN "kind" text COLLATE "C";
