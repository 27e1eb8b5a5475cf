-- Both tables are short. Services of earlier releases take a viewer for a member.
ALTER TABLE "membership" DROP CONSTRAINT "membership_role_check",
  ADD CONSTRAINT "membership_role_check" CHECK ("role" IN ('owner', 'member', 'viewer'));
ALTER TABLE "one_time_link" DROP CONSTRAINT "one_time_link_role_check",
  ADD CONSTRAINT "one_time_link_role_check" CHECK ("role" IN ('owner', 'member', 'viewer'));
