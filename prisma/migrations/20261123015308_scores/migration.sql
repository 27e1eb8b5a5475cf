-- What people and programs say of traces and spans.
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
