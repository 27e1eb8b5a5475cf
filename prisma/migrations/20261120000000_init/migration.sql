-- Accounts, keys, traces, alerts, sites, events and rollups. prisma/README.md says why the tables are cut this way.
-- Text that is compared or sorted uses the "C" collation: byte order, the same on every machine and cheap.

CREATE TABLE "account" (
  "id" uuid NOT NULL,
  "email" text COLLATE "C" NOT NULL,
  "plan" text COLLATE "C" NOT NULL CHECK ("plan" IN ('free', 'pro')),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "account_email_key" ON "account" ("email");

CREATE TABLE "api_key" (
  "id" uuid NOT NULL,
  "account_id" uuid NOT NULL,
  "service" text COLLATE "C" NOT NULL CHECK ("service" IN ('trace', 'analytics')),
  "name" text COLLATE "C" NOT NULL,
  "hash" bytea NOT NULL CHECK (length("hash") = 32),
  "hint" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "last_used_at" timestamptz(6),
  "revoked_at" timestamptz(6),
  CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "api_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key" ("hash");
CREATE INDEX "api_key_account_id_idx" ON "api_key" ("account_id");

-- Every instance caches what a key may do. These triggers tell all of them at once when that changed, also when it was
-- changed by hand: the payload is the account, whose keys are then looked up anew. The argument names its column.
CREATE FUNCTION "notify_account_access"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('waymark_access', to_jsonb(OLD) ->> TG_ARGV[0]);
  RETURN NULL;
END
$$;
CREATE TRIGGER "api_key_access_changed" AFTER DELETE OR UPDATE OF "revoked_at", "account_id", "service", "hash" ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');
CREATE TRIGGER "account_access_changed" AFTER DELETE OR UPDATE OF "plan" ON "account"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('id');

CREATE TABLE "agent" (
  "account_id" uuid NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "agent_pkey" PRIMARY KEY ("account_id", "id")
);

-- The row that every new trace of an account adds one to: its lock is what makes the monthly limit exact.
-- Half-filled pages keep those updates on the page (heap-only), away from the index.
CREATE TABLE "trace_usage" (
  "account_id" uuid NOT NULL,
  "month" date NOT NULL,
  "traces" integer NOT NULL,
  CONSTRAINT "trace_usage_pkey" PRIMARY KEY ("account_id", "month")
) WITH (fillfactor = 50);

CREATE TABLE "trace" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL CHECK ("status" IN ('running', 'success', 'error', 'timeout')),
  "started_at" timestamptz(6) NOT NULL,
  "ended_at" timestamptz(6),
  "metadata" json,
  "alert_id" uuid,
  CONSTRAINT "trace_pkey" PRIMARY KEY ("account_id", "id")
);

CREATE TABLE "span" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL CHECK ("status" IN ('ok', 'error')),
  "started_at" timestamptz(6) NOT NULL,
  "ended_at" timestamptz(6),
  "input" json,
  "output" json,
  "error" text COLLATE "C",
  "parent_span_id" text COLLATE "C",
  CONSTRAINT "span_pkey" PRIMARY KEY ("account_id", "trace_id", "id")
);

CREATE TABLE "alert" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "status" text COLLATE "C" NOT NULL CHECK ("status" IN ('error', 'timeout')),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "queued_at" timestamptz(6),
  "sent_at" timestamptz(6),
  "failed_at" timestamptz(6),
  "attempts" integer NOT NULL DEFAULT 0,
  "last_error" text COLLATE "C",
  CONSTRAINT "alert_pkey" PRIMARY KEY ("account_id", "id")
);
-- The sweep's access path: what is owed, oldest first. It stays small, since sent alerts leave it.
CREATE INDEX "alert_owed_idx" ON "alert" ("created_at") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;

CREATE TABLE "site" (
  "id" uuid NOT NULL,
  "account_id" uuid NOT NULL,
  "domain" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "site_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "site_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "site_account_id_idx" ON "site" ("account_id");

CREATE TABLE "event" (
  "site_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "at" timestamptz(6) NOT NULL,
  "type" text COLLATE "C" NOT NULL CHECK ("type" IN ('pageview', 'event')),
  "visitor" bigint,
  "path" text COLLATE "C",
  "referrer" text COLLATE "C",
  "source" text COLLATE "C",
  "channel" text COLLATE "C" NOT NULL,
  "country" text COLLATE "C",
  "name" text COLLATE "C",
  "props" json,
  CONSTRAINT "event_pkey" PRIMARY KEY ("site_id", "id")
);

CREATE TABLE "daily_visitor" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "visitor" bigint NOT NULL,
  CONSTRAINT "daily_visitor_pkey" PRIMARY KEY ("site_id", "day", "dimension", "value", "visitor")
);

-- Rows are added to all day long: room on the page keeps those updates away from the index.
CREATE TABLE "daily_stat" (
  "site_id" uuid NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "day" date NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "visitors" integer NOT NULL,
  "pageviews" integer NOT NULL,
  CONSTRAINT "daily_stat_pkey" PRIMARY KEY ("site_id", "dimension", "day", "value")
) WITH (fillfactor = 70);

CREATE TABLE "daily_event" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "property" text COLLATE "C" NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "count" integer NOT NULL,
  CONSTRAINT "daily_event_pkey" PRIMARY KEY ("site_id", "day", "name", "property", "value")
) WITH (fillfactor = 70);

CREATE TABLE "visitor_salt" (
  "day" date NOT NULL,
  "salt" bytea NOT NULL CHECK (length("salt") = 32),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "visitor_salt_pkey" PRIMARY KEY ("day")
);

-- Counters of the current minute: losing them in a crash costs nothing, so they are not logged. Columns as
-- rate-limiter-flexible wants them.
CREATE UNLOGGED TABLE "rate_limit" (
  "key" text COLLATE "C" NOT NULL,
  "points" integer NOT NULL DEFAULT 0,
  "expire" bigint,
  CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);
