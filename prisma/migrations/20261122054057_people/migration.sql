-- People, their sessions and links, and an account's record of who did what. Earlier accounts have no people yet:
-- `waymark sign-in-link` makes the first one. better-auth writes "person", "credential" and "session" under these names.

ALTER TABLE "account"
  ADD COLUMN "name" text COLLATE "C",
  ADD COLUMN "stripe_customer_id" text COLLATE "C",
  ADD COLUMN "stripe_subscription_id" text COLLATE "C";
CREATE UNIQUE INDEX "account_stripe_customer_id_key" ON "account" ("stripe_customer_id");

-- No foreign key: a key outlives the person who made it.
ALTER TABLE "api_key" ADD COLUMN "created_by" uuid;

CREATE TABLE "person" (
  "id" uuid NOT NULL,
  "email" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "is_verified" boolean NOT NULL DEFAULT false,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "person_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "person_email_key" ON "person" ("email");

CREATE TABLE "credential" (
  "id" uuid NOT NULL,
  "person_id" uuid NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "subject" text COLLATE "C" NOT NULL,
  "password" text COLLATE "C",
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "credential_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "credential_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "credential_person_id_provider_key" ON "credential" ("person_id", "provider");

CREATE TABLE "membership" (
  "account_id" uuid NOT NULL,
  "person_id" uuid NOT NULL,
  "role" text COLLATE "C" NOT NULL CHECK ("role" IN ('owner', 'member')),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "membership_pkey" PRIMARY KEY ("account_id", "person_id"),
  CONSTRAINT "membership_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "membership_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "membership_person_id_idx" ON "membership" ("person_id");

-- "token" holds the SHA-256 of the cookie's token.
CREATE TABLE "session" (
  "id" uuid NOT NULL,
  "token" text COLLATE "C" NOT NULL,
  "person_id" uuid NOT NULL,
  "account_id" uuid NOT NULL,
  "client" text COLLATE "C",
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "seen_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" timestamptz(6) NOT NULL,
  CONSTRAINT "session_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "session_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "session_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "session_token_key" ON "session" ("token");
CREATE INDEX "session_person_id_idx" ON "session" ("person_id");
CREATE INDEX "session_account_id_idx" ON "session" ("account_id");

-- A sign-up waits here with its name and the hash of its password, so that nothing but a proven address becomes a person.
CREATE TABLE "one_time_link" (
  "hash" bytea NOT NULL CHECK (length("hash") = 32),
  "id" uuid NOT NULL,
  "purpose" text COLLATE "C" NOT NULL CHECK ("purpose" IN ('verify', 'reset', 'invite', 'sign_in')),
  "email" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C",
  "password" text COLLATE "C",
  "person_id" uuid,
  "account_id" uuid,
  "role" text COLLATE "C" CHECK ("role" IN ('owner', 'member')),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" timestamptz(6) NOT NULL,
  "used_at" timestamptz(6),
  CONSTRAINT "one_time_link_pkey" PRIMARY KEY ("hash"),
  CONSTRAINT "one_time_link_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "person" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "one_time_link_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "one_time_link_account_id_idx" ON "one_time_link" ("account_id");
CREATE INDEX "one_time_link_email_idx" ON "one_time_link" ("email");
CREATE INDEX "one_time_link_person_id_idx" ON "one_time_link" ("person_id");
CREATE INDEX "one_time_link_expires_at_idx" ON "one_time_link" ("expires_at");

CREATE TABLE "stripe_event" (
  "id" text COLLATE "C" NOT NULL,
  "received_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "stripe_event_pkey" PRIMARY KEY ("id")
);

-- "person_id" is null where a command or Stripe acted. No foreign key: the record outlives the person.
CREATE TABLE "audit" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "person_id" uuid,
  "action" text COLLATE "C" NOT NULL,
  "subject" text COLLATE "C" NOT NULL,
  "at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "audit_pkey" PRIMARY KEY ("account_id", "id")
);

-- Every instance caches sessions with their roles; their end reaches all of them at once, also when made by hand.
CREATE TRIGGER "session_access_changed" AFTER DELETE OR UPDATE OF "token", "person_id", "account_id", "expires_at" ON "session"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');
CREATE TRIGGER "membership_access_changed" AFTER DELETE OR UPDATE OF "role", "person_id", "account_id" ON "membership"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');

-- A person without an account left is removed with credential and sessions, whoever removes the membership. Probes
-- membership_person_id_idx and person_pkey. Two last memberships removed at once leave the person, who can do nothing.
CREATE FUNCTION "remove_person_without_account"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM session WHERE person_id = OLD.person_id AND account_id = OLD.account_id;
  DELETE FROM person WHERE id = OLD.person_id AND NOT EXISTS (SELECT FROM membership WHERE person_id = OLD.person_id);
  RETURN NULL;
END
$$;
CREATE TRIGGER "membership_removed" AFTER DELETE ON "membership"
  FOR EACH ROW EXECUTE FUNCTION "remove_person_without_account"();
