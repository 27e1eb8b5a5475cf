-- Where the alerts of an account go besides its own address. prisma/README.md says why.

-- An account without a row has the contract's mails alone: nothing routes its alerts.
CREATE TABLE "alert_settings" (
  "account_id" uuid NOT NULL,
  "mode" text NOT NULL DEFAULT 'each',
  "window_seconds" int NOT NULL DEFAULT 600,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "alert_settings_pkey" PRIMARY KEY ("account_id"),
  CONSTRAINT "alert_settings_mode_check" CHECK ("mode" IN ('each', 'digest'))
);

CREATE TABLE "channel" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "kind" text NOT NULL,
  -- Null in the account's own channel, whose id is the account's: its mails follow the account's address.
  "address" text COLLATE "C",
  "secret" text COLLATE "C",
  "agents" text[] COLLATE "C" NOT NULL DEFAULT '{}',
  "statuses" text[] COLLATE "C" NOT NULL DEFAULT '{}',
  "recovered" boolean NOT NULL DEFAULT false,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  "disabled_at" timestamptz(6),
  "disabled_reason" text COLLATE "C",
  "skipped" bigint NOT NULL DEFAULT 0,
  CONSTRAINT "channel_pkey" PRIMARY KEY ("account_id", "id"),
  CONSTRAINT "channel_kind_check" CHECK ("kind" IN ('mail', 'webhook', 'slack', 'discord')),
  CONSTRAINT "channel_address_check" CHECK ("address" IS NOT NULL OR "kind" = 'mail' AND "id" = "account_id")
);
-- The command line knows a channel's id alone.
CREATE UNIQUE INDEX "channel_id_key" ON "channel" ("id");

-- An event for a channel, or a digest of many. The row is the record.
CREATE TABLE "delivery" (
  "account_id" uuid NOT NULL,
  "event_id" uuid NOT NULL,
  "channel_id" uuid NOT NULL,
  "type" text NOT NULL,
  "trace_id" uuid,
  "status" text,
  "agent_id" text COLLATE "C",
  "content" json,
  "failures" int NOT NULL DEFAULT 1,
  "is_collecting" boolean NOT NULL DEFAULT false,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  "due_at" timestamptz(6) NOT NULL DEFAULT now(),
  "begun_at" timestamptz(6),
  "sent_at" timestamptz(6),
  "failed_at" timestamptz(6),
  "attempts" int NOT NULL DEFAULT 0,
  "last_error" text COLLATE "C",
  CONSTRAINT "delivery_pkey" PRIMARY KEY ("account_id", "event_id", "channel_id")
);
-- What a channel got, newest first.
CREATE INDEX "delivery_channel_idx" ON "delivery" ("account_id", "channel_id", "event_id");
-- What is owed, by account: the worker goes round the accounts.
CREATE INDEX "delivery_turn_idx" ON "delivery" ("account_id", "due_at") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;
-- What is owed to a channel, which a bound counts.
CREATE INDEX "delivery_owed_idx" ON "delivery" ("account_id", "channel_id") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;
-- The digests of a channel and agent; one of them collects.
CREATE INDEX "delivery_digest_idx" ON "delivery" ("account_id", "channel_id", "agent_id", "event_id") WHERE "type" = 'digest';
CREATE UNIQUE INDEX "delivery_collecting_key" ON "delivery" ("account_id", "channel_id", "agent_id") WHERE "is_collecting";

-- When the worker gave the alert to the account's channels. Nullable and without a default: no row is rewritten.
ALTER TABLE "alert" ADD COLUMN "routed_at" timestamptz(6);
