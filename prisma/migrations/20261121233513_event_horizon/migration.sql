-- How far back raw events are complete, and what a long value of a property counts as. prisma/README.md says why.

-- The first UTC day whose raw events were never removed by retention; null while none were. One row, which never goes back. The
-- worker writes it before it removes events; imports and rebuilds of the command line read it.
CREATE TABLE "event_horizon" (
  "id" integer NOT NULL DEFAULT 1 CHECK ("id" = 1),
  "day" date,
  CONSTRAINT "event_horizon_pkey" PRIMARY KEY ("id")
);
INSERT INTO "event_horizon" ("day") VALUES (NULL);

-- What the value of a property counts as, the same that the writers compute: at most 200 bytes of UTF-8, where longer ones are cut
-- before a character and end with an ellipsis.
CREATE FUNCTION "rolled_value"(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(value) <= 200 THEN value ELSE (
    SELECT convert_from(substr(bytes, 1, length), 'UTF8') || '…'
    FROM (SELECT convert_to(value, 'UTF8') AS bytes) AS text, generate_series(197, 194, -1) AS length
    WHERE get_byte(bytes, length) & 192 <> 128
    LIMIT 1
  ) END
$$;
