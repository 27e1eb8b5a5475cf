-- The smallest id whose time is the given one. Times before 1970 have no id, so they count as 1970: the day before the first
-- of January 1970 is a bound when that day is counted anew. As before in all else.
CREATE OR REPLACE FUNCTION "uuid_floor"(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, (extract(epoch FROM at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$$;
