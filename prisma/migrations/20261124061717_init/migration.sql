-- The whole schema. prisma/README.md says why the tables are cut this way.
-- Text that is compared or sorted uses the "C" collation: byte order, the same on every machine and cheap.

-- The smallest id with the given time: ids start with the milliseconds since 1970. Earlier times have no id and count as 1970.
CREATE FUNCTION "uuid_floor"(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, (extract(epoch FROM at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$$;

-- A visitor's row remembers a value by 64 bits of SHA-256, the same that the writers compute.
CREATE FUNCTION "seen_hash"(dimension text, value text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(dimension || E'\n' || value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- The counted form of a property's value, the same that the writers compute: at most 200 bytes of UTF-8; longer ones are cut
-- before a character and end with an ellipsis.
CREATE FUNCTION "rolled_value"(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(value) <= 200 THEN value ELSE (
    SELECT convert_from(substr(bytes, 1, length), 'UTF8') || '…'
    FROM (SELECT convert_to(value, 'UTF8') AS bytes) AS text, generate_series(197, 194, -1) AS length
    WHERE get_byte(bytes, length) & 192 <> 128
    LIMIT 1
  ) END
$$;

-- Every instance caches keys and sessions. Triggers notify all of them of a change, also one by hand: the payload is the
-- account, in the column that the argument names.
CREATE FUNCTION "notify_account_access"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('waymark_access', to_jsonb(OLD) ->> TG_ARGV[0]);
  RETURN NULL;
END
$$;

--
-- Accounts and people
--

CREATE TABLE "account" (
  "id" uuid NOT NULL,
  "email" text COLLATE "C" NOT NULL,
  "plan" text COLLATE "C" NOT NULL CHECK ("plan" IN ('free', 'pro')),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "name" text COLLATE "C",
  "stripe_customer_id" text COLLATE "C",
  "stripe_subscription_id" text COLLATE "C",
  -- Decides about the account's cell. Keys of accounts from before slots carry none, so they are in slot 00.
  "slot" text COLLATE "C" NOT NULL DEFAULT '00' CHECK ("slot" ~ '^[0-9a-f]{2}$'),
  CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "account_email_key" ON "account" ("email");
CREATE UNIQUE INDEX "account_stripe_customer_id_key" ON "account" ("stripe_customer_id");
CREATE TRIGGER "account_access_changed" AFTER DELETE OR UPDATE OF "plan" ON "account"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('id');

CREATE TABLE "site" (
  "id" uuid NOT NULL,
  "account_id" uuid NOT NULL,
  "domain" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "is_proven" boolean NOT NULL DEFAULT true,
  "proof_token" text COLLATE "C" NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
  CONSTRAINT "site_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "site_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "site_account_id_idx" ON "site" ("account_id");
CREATE INDEX "site_domain_idx" ON "site" ("domain");
-- The collector's look-up: waiting sites, of which a domain may have any number, cost it nothing.
CREATE INDEX "site_receiving_idx" ON "site" ("domain", "id") WHERE "is_proven";

-- A deleted site's events and figures, until the worker has removed them. "id" is no "site_id": the erasure must not find it.
CREATE TABLE "deleted_site" (
  "id" uuid NOT NULL,
  "deleted_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "deleted_site_pkey" PRIMARY KEY ("id")
);

-- "domain" is without `www.`, since a page at www.example.com also reports to the sites of example.com. No foreign key to
-- "account": a claim never outlives its sites.
CREATE TABLE "site_domain" (
  "domain" text COLLATE "C" NOT NULL,
  "account_id" uuid NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "site_domain_pkey" PRIMARY KEY ("domain")
);

-- Releases a domain with its account's last site of it, whoever deletes or renames that: to the account of the oldest proven
-- site left, or to nobody. Locks the row first, so it sees a site in creation. Probes site_domain_pkey and site_domain_idx.
CREATE FUNCTION "release_site_domain"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  bare text := regexp_replace(OLD.domain, '^(www[.])+', '');
  heir uuid;
BEGIN
  PERFORM FROM site_domain WHERE domain = bare AND account_id = OLD.account_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT account_id INTO heir FROM site WHERE domain IN (bare, 'www.' || bare) AND is_proven
  ORDER BY account_id <> OLD.account_id, id LIMIT 1;
  IF heir IS NULL THEN
    DELETE FROM site_domain WHERE domain = bare;
  ELSIF heir <> OLD.account_id THEN
    UPDATE site_domain SET account_id = heir WHERE domain = bare;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER "site_domain_released" AFTER DELETE OR UPDATE OF "domain", "account_id" ON "site"
  FOR EACH ROW EXECUTE FUNCTION "release_site_domain"();

CREATE TABLE "api_key" (
  "id" uuid NOT NULL,
  "account_id" uuid NOT NULL,
  -- A release without shared keys looks for 'analytics', and so refuses them; it would let them read every site.
  "service" text COLLATE "C" NOT NULL CHECK ("service" IN ('trace', 'analytics', 'share')),
  "name" text COLLATE "C" NOT NULL,
  "hash" bytea NOT NULL CHECK (length("hash") = 32),
  "hint" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "last_used_at" timestamptz(6),
  "revoked_at" timestamptz(6),
  -- No foreign key: a key outlives the person who made it.
  "created_by" uuid,
  "site_id" uuid,
  "expires_at" timestamptz(6),
  CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "api_key_share_check" CHECK (("service" = 'share') = ("site_id" IS NOT NULL)),
  CONSTRAINT "api_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "api_key_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key" ("hash");
CREATE INDEX "api_key_account_id_idx" ON "api_key" ("account_id");
-- The deletion of a site finds its keys.
CREATE INDEX "api_key_site_id_idx" ON "api_key" ("site_id") WHERE "site_id" IS NOT NULL;
CREATE TRIGGER "api_key_access_changed"
  AFTER DELETE OR UPDATE OF "revoked_at", "account_id", "service", "hash", "site_id", "expires_at" ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');

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
CREATE TRIGGER "membership_access_changed" AFTER DELETE OR UPDATE OF "role", "person_id", "account_id" ON "membership"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');

-- Removes a person without an account left, with credential and sessions, whoever removes the membership. Probes
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
CREATE INDEX "session_expires_at_idx" ON "session" ("expires_at");
CREATE TRIGGER "session_access_changed" AFTER DELETE OR UPDATE OF "token", "person_id", "account_id", "expires_at" ON "session"
  FOR EACH ROW EXECUTE FUNCTION "notify_account_access"('account_id');

-- A sign-up waits here with its name and the hash of its password, so only a proven address becomes a person.
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

-- Counters of the current minute: losing them in a crash costs nothing, so they are not logged. rate-limiter-flexible wants
-- these columns.
CREATE UNLOGGED TABLE "rate_limit" (
  "key" text COLLATE "C" NOT NULL,
  "points" integer NOT NULL DEFAULT 0,
  "expire" bigint,
  CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

-- Slots on their way to or from another cell (packages/accounts/src/move). Empty unless `waymark cell move` is at work.
CREATE TABLE "slot_move" (
  "slot" text COLLATE "C" NOT NULL,
  -- The same in both databases.
  "id" uuid NOT NULL,
  -- In the source: moving, then moved and finishing, or undoing. In the target: arriving.
  "phase" text COLLATE "C" NOT NULL,
  -- Host and database of the other cell, without a password.
  "other" text NOT NULL,
  "started_at" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "slot_move_pkey" PRIMARY KEY ("slot"),
  CONSTRAINT "slot_move_phase_check" CHECK ("phase" IN ('moving', 'moved', 'finishing', 'undoing', 'arriving'))
);

-- Refuses changes of a slot's rows during its move. A service gets the error WM001, which it answers with 503. The worker's
-- statements, which may hold other tenants' rows, leave the row out, and so does an UPDATE of nothing but the columns in the
-- further arguments, a sign of life. A transaction whose snapshot is older than the move has to begin anew. The first argument
-- says where a row's slot is; the triggers exist only during a move.
CREATE FUNCTION "refuse_moving"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  its_slot text;
  now_in text;
BEGIN
  IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
  IF TG_ARGV[0] = 'account_id' THEN
    its_slot := (SELECT slot FROM account WHERE id = changed.account_id);
  ELSIF TG_ARGV[0] = 'site_id' THEN
    its_slot := (SELECT a.slot FROM site s JOIN account a ON a.id = s.account_id WHERE s.id = changed.site_id);
  ELSIF TG_ARGV[0] = 'slot' THEN
    its_slot := changed.slot;
  ELSE
    its_slot := (
      SELECT a.slot FROM membership m JOIN account a ON a.id = m.account_id
      JOIN slot_move v ON v.slot = a.slot AND v.phase <> 'arriving'
      WHERE m.person_id = (to_jsonb(changed) ->> TG_ARGV[0])::uuid LIMIT 1);
  END IF;
  now_in := (SELECT phase FROM slot_move WHERE slot = its_slot);
  IF NOT EXISTS (SELECT FROM slot_move WHERE phase <> 'arriving') THEN
    RAISE EXCEPTION 'a slot began to move' USING ERRCODE = 'serialization_failure';
  END IF;
  IF now_in IS NULL OR now_in = 'arriving' OR now_in = 'finishing' AND TG_OP <> 'INSERT' THEN
    RETURN changed;
  END IF;
  IF current_setting('application_name') = 'waymark worker' THEN RETURN NULL; END IF;
  IF TG_NARGS > 1 AND TG_OP = 'UPDATE' AND to_jsonb(OLD) - TG_ARGV[1:] = to_jsonb(NEW) - TG_ARGV[1:] THEN RETURN NULL; END IF;
  RAISE EXCEPTION 'slot % is moving to another cell', its_slot USING ERRCODE = 'WM001';
END
$$;

--
-- Traces
--

CREATE TABLE "agent" (
  "account_id" uuid NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- Whether only traces without their root name the agent: it yields to the first settled one. Only accounts whose number of
  -- agents is limited have such an agent, and one at most.
  "is_provisional" boolean NOT NULL DEFAULT false,
  CONSTRAINT "agent_pkey" PRIMARY KEY ("account_id", "id")
);

-- Half-filled pages keep the updates of each new trace on the page (heap-only), away from the index.
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
  -- OpenTelemetry's id of the trace; all requests with its spans meet at the unique index.
  "otel_trace_id" bytea CHECK (length("otel_trace_id") = 16),
  -- The span that decided name, status and end; null until it came.
  "root_span_id" uuid,
  -- The last write of the row itself; a trace's last write is the latest of its own and its spans'.
  "written_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "status_txid" bigint DEFAULT txid_current(),
  CONSTRAINT "trace_pkey" PRIMARY KEY ("account_id", "id")
);
CREATE UNIQUE INDEX "trace_otel_trace_id_key" ON "trace" ("account_id", "otel_trace_id") WHERE "otel_trace_id" IS NOT NULL;
-- The condition holds for every row. It keeps the index from statements that bound no start: the planner, while it knows nothing
-- of the table, takes it to be as good as the primary key.
CREATE INDEX "trace_listing_idx" ON "trace" ("account_id", "started_at", "id") INCLUDE ("status", "agent_id")
  WHERE "started_at" IS NOT NULL;
CREATE INDEX "trace_running_idx" ON "trace" ("account_id", "id") WHERE "status" = 'running';
CREATE INDEX "trace_stream_idx" ON "trace" ("account_id", "status_txid") WHERE "status_txid" IS NOT NULL;

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
  -- Beyond the contract's fields: an object, as text.
  "attributes" json,
  "written_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- Null in spans that are not from OpenTelemetry, and in older ones, whose "attributes" hold resource and scope themselves.
  "resource_id" bigint,
  "scope_id" bigint,
  CONSTRAINT "span_pkey" PRIMARY KEY ("account_id", "trace_id", "id")
) PARTITION BY RANGE ("trace_id");
-- Takes spans of weeks without a partition, so that none is ever refused.
CREATE TABLE "span_default" PARTITION OF "span" DEFAULT;

-- The partitions with their bounds; null where one has none.
CREATE VIEW "span_partition" AS
  SELECT c.relname::text AS name, (regexp_match(bound, 'FROM \(''([^'']+)'))[1]::uuid AS first,
    (regexp_match(bound, 'TO \(''([^'']+)'))[1]::uuid AS until
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
  WHERE i.inhparent = 'public.span'::regclass;

-- Makes the partition of a UTC day's week, which begins on Monday, with the spans that the default partition holds of it.
-- Several callers at once: one makes it, the others find it made.
CREATE FUNCTION "ensure_span_partition"(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  monday timestamptz := date_trunc('week', day::timestamp) AT TIME ZONE 'UTC';
  first_id uuid := uuid_floor(monday);
  until_id uuid := uuid_floor(monday + interval '168 hours');
  name text := 'span_' || to_char(monday AT TIME ZONE 'UTC', 'YYYYMMDD');
BEGIN
  -- Within another partition it needs none.
  IF EXISTS (
    SELECT FROM "span_partition" p WHERE first_id < p.until AND until_id > COALESCE(p.first, first_id)
  ) THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "span_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE "span" INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "span_default" WHERE trace_id >= %L AND trace_id < %L RETURNING *)
    INSERT INTO public.%I SELECT * FROM moved', first_id, until_id, name);
  EXECUTE format('ALTER TABLE "span" ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', name, first_id, until_id);
  RETURN true;
END
$$;

-- Drops the spans of a partition, which the worker does and no other service, with the owner's rights as
-- "drop_event_partition". Takes the locks of DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_span_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM "span_partition" WHERE name = partition AND until IS NOT NULL) THEN
    RAISE EXCEPTION '% is not a partition of a time', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;

SELECT ensure_span_partition((now() AT TIME ZONE 'UTC')::date + 7 * week) FROM generate_series(0, 2) AS week;

-- "id" is the first 64 bits of the text's SHA-256.
CREATE TABLE "trace_context" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "id" bigint NOT NULL,
  "value" json NOT NULL,
  "bytes" integer NOT NULL,
  CONSTRAINT "trace_context_pkey" PRIMARY KEY ("account_id", "trace_id", "id")
);

CREATE TABLE "deleted_otel_trace" (
  "account_id" uuid NOT NULL,
  "otel_trace_id" bytea NOT NULL CHECK (length("otel_trace_id") = 16),
  "deleted_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "deleted_otel_trace_pkey" PRIMARY KEY ("account_id", "otel_trace_id")
);
CREATE INDEX "deleted_otel_trace_deleted_at_idx" ON "deleted_otel_trace" ("deleted_at");

CREATE TABLE "idempotency_key" (
  "account_id" uuid NOT NULL,
  "key" text COLLATE "C" NOT NULL,
  "request_hash" bytea NOT NULL CHECK (length("request_hash") = 32),
  "ids" uuid[] NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("account_id", "key")
);
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key" ("created_at");

-- A block has the traces after "after_id" up to "last_id".
CREATE TABLE "trace_block" (
  "account_id" uuid NOT NULL,
  "last_id" uuid NOT NULL,
  "after_id" uuid NOT NULL,
  "first_start" timestamptz(6),
  "last_start" timestamptz(6),
  "longest_ms" double precision,
  "statuses" text[] COLLATE "C" NOT NULL,
  "marks" bytea NOT NULL,
  CONSTRAINT "trace_block_pkey" PRIMARY KEY ("account_id", "last_id")
);

-- Traces that may have changed since their block was made. Searches read them until the worker has renewed the block.
CREATE TABLE "trace_change" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "changes" integer NOT NULL DEFAULT 1,
  CONSTRAINT "trace_change_pkey" PRIMARY KEY ("account_id", "trace_id")
);

CREATE FUNCTION "note_trace_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trace_change AS c (account_id, trace_id) VALUES (NEW.account_id, NEW.id)
  ON CONFLICT (account_id, trace_id) DO UPDATE SET changes = (c.changes + 1) % 1000000000;
  RETURN NULL;
END
$$;
-- The worker itself notes traces written within the hour before it makes their block.
CREATE TRIGGER "trace_change_noted" AFTER UPDATE OF "agent_id", "name", "status", "started_at", "ended_at" ON "trace"
  FOR EACH ROW WHEN (OLD.written_at < now() - interval '30 minutes') EXECUTE FUNCTION "note_trace_change"();

CREATE TABLE "model_call" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "span_id" uuid NOT NULL,
  "version" bigint GENERATED BY DEFAULT AS IDENTITY,
  "started_at" timestamptz(6) NOT NULL,
  "agent_id" text COLLATE "C",
  "provider" text COLLATE "C" NOT NULL DEFAULT '',
  "model" text COLLATE "C" NOT NULL DEFAULT '',
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cached_input_tokens" bigint,
  "cache_write_tokens" bigint,
  "reasoning_tokens" bigint,
  "cost" numeric(24, 12),
  "counts" boolean NOT NULL DEFAULT false,
  "written_at" timestamptz(6) NOT NULL DEFAULT now(),
  "settle_at" timestamptz(6) DEFAULT now(),
  CONSTRAINT "model_call_pkey" PRIMARY KEY ("account_id", "trace_id", "span_id", "version")
);
-- The calls that are not in the sums yet: few at a time.
CREATE INDEX "model_call_unsettled_idx" ON "model_call" ("account_id", "settle_at") WHERE "settle_at" IS NOT NULL;
CREATE INDEX "model_call_agent_idx" ON "model_call" ("account_id", "agent_id", "started_at") WHERE "counts";

CREATE TABLE "model_day" (
  "account_id" uuid NOT NULL,
  "day" date NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "model" text COLLATE "C" NOT NULL,
  "calls" bigint NOT NULL,
  "priced_calls" bigint NOT NULL,
  "input_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "cached_input_tokens" bigint NOT NULL,
  "cache_write_tokens" bigint NOT NULL,
  "reasoning_tokens" bigint NOT NULL,
  "cost" numeric(30, 12) NOT NULL,
  CONSTRAINT "model_day_pkey" PRIMARY KEY ("account_id", "day", "agent_id", "provider", "model")
);

CREATE TABLE "failure" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "span_name" text COLLATE "C",
  "error" text COLLATE "C",
  "seen_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "failure_pkey" PRIMARY KEY ("account_id", "id")
);

CREATE TABLE "trace_failure" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "failure_id" uuid,
  "written_at" timestamptz(6) NOT NULL,
  CONSTRAINT "trace_failure_pkey" PRIMARY KEY ("account_id", "trace_id")
) WITH (fillfactor = 80);

CREATE TABLE "score" (
  "account_id" uuid NOT NULL,
  "trace_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "span_id" uuid,
  "name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "number" double precision,
  "text" text COLLATE "C",
  "comment" text COLLATE "C",
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "score_pkey" PRIMARY KEY ("account_id", "trace_id", "id"),
  CONSTRAINT "score_kind_check" CHECK ("kind" IN ('number', 'boolean', 'text'))
);

--
-- Alerts
--

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
  -- A trace has ten pending alerts at most; further failures count in the newest.
  "failures" integer NOT NULL DEFAULT 1,
  -- When the next attempt may begin; an attempt moves it ahead while it lasts, so that no other worker begins one.
  "due_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- When the limits let its own mail go.
  "allowed_at" timestamptz(6),
  -- When the limit that held it opens again; the summary "summary_id" then covers it.
  "held_until" timestamptz(6),
  "summary_id" uuid,
  -- When the worker gave it to the account's channels.
  "routed_at" timestamptz(6),
  CONSTRAINT "alert_pkey" PRIMARY KEY ("account_id", "id")
);
-- Pending alerts, oldest first, for the sweep, and by account, for the worker's turns.
CREATE INDEX "alert_owed_idx" ON "alert" ("created_at")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NULL;
CREATE INDEX "alert_turn_idx" ON "alert" ("account_id", "due_at")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NULL;
-- Alerts that wait for a summary.
CREATE INDEX "alert_held_idx" ON "alert" ("account_id", "held_until")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "held_until" IS NOT NULL AND "summary_id" IS NULL;
-- Alerts of a pending summary.
CREATE INDEX "alert_summary_id_idx" ON "alert" ("account_id", "summary_id")
  WHERE "sent_at" IS NULL AND "failed_at" IS NULL AND "summary_id" IS NOT NULL;
-- The mails of an account's last hour, which its limit counts.
CREATE INDEX "alert_allowed_idx" ON "alert" ("account_id", "allowed_at") WHERE "allowed_at" IS NOT NULL;
CREATE INDEX "alert_trace_idx" ON "alert" ("account_id", "trace_id", "id");

CREATE TABLE "alert_summary" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "due_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "sent_at" timestamptz(6),
  "failed_at" timestamptz(6),
  "attempts" integer NOT NULL DEFAULT 0,
  "last_error" text COLLATE "C",
  CONSTRAINT "alert_summary_pkey" PRIMARY KEY ("account_id", "id")
);
CREATE INDEX "alert_summary_owed_idx" ON "alert_summary" ("due_at") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;

CREATE TABLE "mute" (
  "account_id" uuid NOT NULL,
  "failure_id" uuid NOT NULL,
  "until" timestamptz(6),
  "alerts" integer NOT NULL DEFAULT 0,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "mute_pkey" PRIMARY KEY ("account_id", "failure_id")
);

CREATE TABLE "alert_rule" (
  "account_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "above_percent" numeric(6, 3) NOT NULL,
  "of_traces" integer NOT NULL,
  "within_seconds" integer NOT NULL,
  "is_crossed" boolean NOT NULL DEFAULT false,
  "changed_at" timestamptz(6),
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "alert_rule_pkey" PRIMARY KEY ("account_id", "id")
);
-- The command line knows a rule's id alone.
CREATE UNIQUE INDEX "alert_rule_id_key" ON "alert_rule" ("id");

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
-- A channel's record, newest first.
CREATE INDEX "delivery_channel_idx" ON "delivery" ("account_id", "channel_id", "event_id");
-- Pending deliveries, by account for the worker's turns, and by channel for a bound that counts them.
CREATE INDEX "delivery_turn_idx" ON "delivery" ("account_id", "due_at") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;
CREATE INDEX "delivery_owed_idx" ON "delivery" ("account_id", "channel_id") WHERE "sent_at" IS NULL AND "failed_at" IS NULL;
-- The digests of a channel and agent; one of them collects.
CREATE INDEX "delivery_digest_idx" ON "delivery" ("account_id", "channel_id", "agent_id", "event_id") WHERE "type" = 'digest';
CREATE UNIQUE INDEX "delivery_collecting_key" ON "delivery" ("account_id", "channel_id", "agent_id") WHERE "is_collecting";

CREATE TABLE "failing_agent" (
  "account_id" uuid NOT NULL,
  "agent_id" text COLLATE "C" NOT NULL,
  "since" timestamptz(6) NOT NULL,
  CONSTRAINT "failing_agent_pkey" PRIMARY KEY ("account_id", "agent_id")
);

--
-- Events and statistics
--

CREATE TABLE "event" (
  "site_id" uuid NOT NULL,
  "id" uuid NOT NULL,
  "at" timestamptz(6) NOT NULL,
  "type" text COLLATE "C" NOT NULL CHECK ("type" IN ('pageview', 'event', 'engagement')),
  "visitor" bigint,
  "path" text COLLATE "C",
  "referrer" text COLLATE "C",
  "source" text COLLATE "C",
  "channel" text COLLATE "C" NOT NULL,
  "country" text COLLATE "C",
  "browser" text COLLATE "C",
  "os" text COLLATE "C",
  "device" text COLLATE "C",
  "utm_source" text COLLATE "C",
  "utm_medium" text COLLATE "C",
  "utm_campaign" text COLLATE "C",
  "name" text COLLATE "C",
  "props" json,
  "host" text COLLATE "C",
  "revenue_amount" numeric(24, 6),
  "revenue_currency" text COLLATE "C",
  "is_interactive" boolean NOT NULL DEFAULT true,
  "engaged_ms" integer,
  "scroll_depth" smallint,
  CONSTRAINT "event_pkey" PRIMARY KEY ("site_id", "id")
) PARTITION BY RANGE ("id");
-- Takes events of months without a partition, so that none is ever refused.
CREATE TABLE "event_default" PARTITION OF "event" DEFAULT;

-- Makes the partition of a UTC month where it is missing, with the events that the default partition holds of that month.
-- Attaching lets readers and writers of other partitions go on. Several callers at once: one makes it, the others find it made.
CREATE FUNCTION "ensure_event_partition"(month date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first date := date_trunc('month', month)::date;
  name text := 'event_' || to_char(first, 'YYYYMM');
  lower uuid := uuid_floor(first::timestamp AT TIME ZONE 'UTC');
  upper uuid := uuid_floor((first + interval '1 month') AT TIME ZONE 'UTC');
BEGIN
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "event_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE "event" INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "event_default" WHERE id >= %L AND id < %L RETURNING *)
    INSERT INTO %I SELECT * FROM moved', lower, upper, name);
  EXECUTE format('ALTER TABLE "event" ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, lower, upper);
  RETURN true;
END
$$;

-- Drops one month of raw events, which the worker does and no other service. Where services have roles of their own
-- (packages/database/src/roles.ts), this function and "ensure_event_partition" run with the owner's rights, since a role that
-- may drop a table otherwise has to own it. Takes the same locks as DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_event_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'public.event'::regclass AND relname = partition AND relname ~ '^event_\d{6}$'
  ) THEN
    RAISE EXCEPTION '% is not the partition of a month', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;

-- "day" is the first UTC day whose raw events retention never removed, null while it removed none. Days before "visits_day" had
-- lost raw events when visits came, so nothing can count their visits; null for none. One row, which never goes back.
CREATE TABLE "event_horizon" (
  "id" integer NOT NULL DEFAULT 1 CHECK ("id" = 1),
  "day" date,
  "visits_day" date,
  CONSTRAINT "event_horizon_pkey" PRIMARY KEY ("id")
);
INSERT INTO "event_horizon" ("day") VALUES (NULL);

CREATE TABLE "visitor_salt" (
  "day" date NOT NULL,
  "salt" bytea NOT NULL CHECK (length("salt") = 32),
  "created_at" timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "visitor_salt_pkey" PRIMARY KEY ("day")
);

-- Moments are microseconds since the beginning of the UTC day. Columns that change with each event of a visit are in no index,
-- so a visit grows by heap-only updates.
CREATE TABLE "visit" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "visitor" bigint NOT NULL,
  "first_us" bigint NOT NULL,
  "last_us" bigint NOT NULL,
  "entry_us" bigint NOT NULL,
  "entry_id" uuid NOT NULL,
  "exit_us" bigint,
  "exit_id" uuid,
  "views" integer NOT NULL,
  "events" integer NOT NULL,
  "entry_path" text COLLATE "C",
  "exit_path" text COLLATE "C",
  "source" text COLLATE "C",
  "channel" text COLLATE "C" NOT NULL,
  "country" text COLLATE "C",
  "browser" text COLLATE "C",
  "os" text COLLATE "C",
  "device" text COLLATE "C",
  "utm_source" text COLLATE "C",
  "utm_medium" text COLLATE "C",
  "utm_campaign" text COLLATE "C",
  "viewed" bigint[] NOT NULL,
  "end_us" bigint,
  "passive_events" integer NOT NULL DEFAULT 0,
  CONSTRAINT "visit_pkey" PRIMARY KEY ("site_id", "day", "visitor", "first_us")
);

CREATE TABLE "daily_visitor" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "visitor" bigint NOT NULL,
  "seen" bigint[] NOT NULL,
  "entry_at" timestamptz(6) NOT NULL,
  "entry_id" uuid NOT NULL,
  "entry_path" text COLLATE "C" NOT NULL,
  CONSTRAINT "daily_visitor_pkey" PRIMARY KEY ("site_id", "day", "visitor")
) PARTITION BY RANGE ("day");
-- Takes rows of days without a partition: an import's old days, and new ones while the worker is away.
CREATE TABLE "daily_visitor_default" PARTITION OF "daily_visitor" DEFAULT WITH (fillfactor = 80);

-- The partitions with their bounds; null where one has none.
CREATE VIEW "visitor_partition" AS
  SELECT c.relname::text AS name, (regexp_match(bound, 'FROM \(''([^'']+)'))[1]::date AS first,
    (regexp_match(bound, 'TO \(''([^'']+)'))[1]::date AS until
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
  WHERE i.inhparent = 'public.daily_visitor'::regclass;

-- Makes a UTC day's partition, with the rows that the default partition holds of it. Several callers at once: one makes it, the
-- others find it made.
CREATE FUNCTION "ensure_visitor_partition"(wanted date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  name text := 'daily_visitor_' || to_char(wanted, 'YYYYMMDD');
BEGIN
  IF EXISTS (
    SELECT FROM "visitor_partition" p WHERE wanted < p.until AND wanted >= COALESCE(p.first, wanted)
  ) THEN RETURN false; END IF;
  -- A lock of a table, unlike an advisory one, also lets this session see what others made while it waited.
  LOCK TABLE "daily_visitor_default" IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE "daily_visitor" INCLUDING ALL) WITH (fillfactor = 80)', name);
  EXECUTE format('WITH moved AS (DELETE FROM "daily_visitor_default" WHERE day = %L RETURNING *)
    INSERT INTO public.%I SELECT * FROM moved', wanted, name);
  EXECUTE format('ALTER TABLE "daily_visitor" ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', name, wanted, wanted + 1);
  RETURN true;
END
$$;

-- Drops a partition with its visitors, which the worker does and no other service, with the owner's rights as
-- "drop_event_partition". Takes the locks of DROP TABLE; waits for them as long as lock_timeout says.
CREATE FUNCTION "drop_visitor_partition"(partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM "visitor_partition" WHERE name = partition AND until IS NOT NULL) THEN
    RAISE EXCEPTION '% is not a partition of a time', partition;
  END IF;
  EXECUTE format('DROP TABLE public.%I', partition);
END
$$;

-- Empties the default partition if no site has visitors of the day or later in it. Probes its key once for each site, under a
-- lock for which it waits as long as lock_timeout says.
CREATE FUNCTION "empty_old_visitors"(first_kept date) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE "daily_visitor_default" IN ACCESS EXCLUSIVE MODE;
  IF EXISTS (
    SELECT FROM "site" WHERE EXISTS (SELECT FROM "daily_visitor_default" d WHERE d.site_id = "site".id AND d.day >= first_kept)
  ) THEN RETURN false; END IF;
  TRUNCATE "daily_visitor_default";
  RETURN true;
END
$$;

SELECT ensure_visitor_partition((now() AT TIME ZONE 'UTC')::date + day) FROM generate_series(0, 3) AS day;

-- Rows grow all day long: room on the page keeps those updates away from the index.
CREATE TABLE "daily_stat" (
  "site_id" uuid NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "day" date NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "visitors" integer NOT NULL,
  "pageviews" integer NOT NULL,
  "visits" integer NOT NULL DEFAULT 0,
  "bounces" integer NOT NULL DEFAULT 0,
  "visit_us" bigint NOT NULL DEFAULT 0,
  "visit_views" integer NOT NULL DEFAULT 0,
  "events" integer NOT NULL DEFAULT 0,
  "engagements" integer NOT NULL DEFAULT 0,
  CONSTRAINT "daily_stat_pkey" PRIMARY KEY ("site_id", "dimension", "day", "value")
) WITH (fillfactor = 70);
-- A visit's row names its pages and hosts by hash; this index finds their rows.
CREATE INDEX "daily_stat_seen_idx" ON "daily_stat" ("site_id", "day", "seen_hash"("dimension", "value"))
  WHERE "dimension" IN ('page', 'host');

CREATE TABLE "daily_event" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "property" text COLLATE "C" NOT NULL,
  "value" text COLLATE "C" NOT NULL,
  "count" integer NOT NULL,
  CONSTRAINT "daily_event_pkey" PRIMARY KEY ("site_id", "day", "name", "property", "value")
) WITH (fillfactor = 70);

-- The number of values in a day's lists, which bounds them.
CREATE TABLE "daily_size" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "dimension" text COLLATE "C" NOT NULL,
  "values" integer NOT NULL,
  CONSTRAINT "daily_size_pkey" PRIMARY KEY ("site_id", "day", "dimension")
);

-- Days whose rollups hold figures of another tool's export. No events stand behind them, so a rebuild leaves them alone.
CREATE TABLE "imported_day" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "source" text COLLATE "C" NOT NULL,
  CONSTRAINT "imported_day_pkey" PRIMARY KEY ("site_id", "day")
);

CREATE TABLE "day_part" (
  "site_id" uuid NOT NULL,
  "day" date NOT NULL,
  "part" integer NOT NULL,
  "version" text COLLATE "C" NOT NULL,
  "visits" bytea NOT NULL,
  "pages" bytea NOT NULL,
  "times" bytea NOT NULL,
  "details" bytea NOT NULL,
  CONSTRAINT "day_part_pkey" PRIMARY KEY ("site_id", "day", "part")
);
-- Plain bytes: decompressing them would take longer than all that is done with them.
ALTER TABLE "day_part"
  ALTER COLUMN "visits" SET STORAGE EXTERNAL,
  ALTER COLUMN "pages" SET STORAGE EXTERNAL,
  ALTER COLUMN "times" SET STORAGE EXTERNAL,
  ALTER COLUMN "details" SET STORAGE EXTERNAL;

CREATE TABLE "goal" (
  "id" uuid NOT NULL,
  "site_id" uuid NOT NULL,
  "name" text NOT NULL,
  "event" text,
  "property" text,
  "value" text,
  "page" text,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "goal_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "goal_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "goal_kind_check" CHECK (("event" IS NULL) <> ("page" IS NULL)),
  CONSTRAINT "goal_property_check" CHECK (
    ("property" IS NULL) = ("value" IS NULL) AND ("property" IS NULL OR "event" IS NOT NULL)
  )
);

CREATE TABLE "funnel" (
  "id" uuid NOT NULL,
  "site_id" uuid NOT NULL,
  "name" text NOT NULL,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "funnel_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "funnel_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- They list a site's rows, and keep a funnel's goals in its site.
CREATE UNIQUE INDEX "goal_site_id_id_key" ON "goal" ("site_id", "id");
CREATE UNIQUE INDEX "funnel_site_id_id_key" ON "funnel" ("site_id", "id");

CREATE TABLE "funnel_step" (
  "site_id" uuid NOT NULL,
  "funnel_id" uuid NOT NULL,
  "position" int NOT NULL,
  "goal_id" uuid NOT NULL,
  CONSTRAINT "funnel_step_pkey" PRIMARY KEY ("site_id", "funnel_id", "position"),
  -- A deleted site takes its steps along before it asks whether a step has one of its goals.
  CONSTRAINT "funnel_step_site_id_fkey" FOREIGN KEY ("site_id") REFERENCES "site" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "funnel_step_site_id_funnel_id_fkey" FOREIGN KEY ("site_id", "funnel_id")
    REFERENCES "funnel" ("site_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "funnel_step_site_id_goal_id_fkey" FOREIGN KEY ("site_id", "goal_id")
    REFERENCES "goal" ("site_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE
);
