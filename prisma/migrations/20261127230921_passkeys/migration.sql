CREATE TABLE "passkey" (
  "id" text COLLATE "C" NOT NULL,
  "person_id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "public_key" bytea NOT NULL,
  "counter" bigint NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "used_at" timestamptz(6),
  CONSTRAINT "passkey_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "passkey_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "passkey_person_id_idx" ON "passkey" ("person_id");

CREATE TABLE "challenge" (
  "hash" bytea NOT NULL,
  "person_id" uuid,
  "expires_at" timestamptz(6) NOT NULL,
  CONSTRAINT "challenge_pkey" PRIMARY KEY ("hash"),
  CONSTRAINT "challenge_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "challenge_person_id_idx" ON "challenge" ("person_id");
CREATE INDEX "challenge_expires_at_idx" ON "challenge" ("expires_at");
