-- The worker removes ended sessions along this index.
CREATE INDEX "session_expires_at_idx" ON "session" ("expires_at");
