CREATE TABLE "totp" (
  "person_id" uuid NOT NULL,
  "secret" bytea NOT NULL,
  "confirmed_at" timestamptz(6),
  "last_step" bigint NOT NULL DEFAULT 0,
  "recovery" bytea[] NOT NULL DEFAULT '{}',
  CONSTRAINT "totp_pkey" PRIMARY KEY ("person_id"),
  CONSTRAINT "totp_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
