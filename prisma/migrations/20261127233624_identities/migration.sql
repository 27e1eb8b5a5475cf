CREATE UNIQUE INDEX "credential_provider_subject_key" ON "credential" ("provider", "subject");
