-- Second step: reads all spans once while readers and writers go on.
ALTER TABLE "span" VALIDATE CONSTRAINT "span_week";
