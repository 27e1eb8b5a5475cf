-- Failed traces by what went wrong, and groups whose alerts stay silent. prisma/README.md says why.

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

CREATE TABLE "mute" (
  "account_id" uuid NOT NULL,
  "failure_id" uuid NOT NULL,
  "until" timestamptz(6),
  "alerts" integer NOT NULL DEFAULT 0,
  "created_at" timestamptz(6) NOT NULL DEFAULT now(),
  CONSTRAINT "mute_pkey" PRIMARY KEY ("account_id", "failure_id")
);
