-- Engagement is a third type of event. Events from before are of the two others, so nothing needs a check of all rows.
ALTER TABLE "event" DROP CONSTRAINT "event_type_check1";
ALTER TABLE "event" ADD CONSTRAINT "event_type_check" CHECK ("type" IN ('pageview', 'event', 'engagement')) NOT VALID;
