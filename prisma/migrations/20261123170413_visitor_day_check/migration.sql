-- Second step: reads all visitors once while readers and writers go on.
ALTER TABLE "daily_visitor" VALIDATE CONSTRAINT "visitor_day";
