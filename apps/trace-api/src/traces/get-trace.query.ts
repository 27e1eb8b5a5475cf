import type pg from "pg";

/** A timestamp as JSON: UTC with `Z`, milliseconds, and microseconds where there are any. */
function iso(column: string): string {
  return `regexp_replace(to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US'), '000$', '') || 'Z'`;
}

/**
 * The trace as the JSON text that goes to the client: opaque JSON is copied as text and never parsed. Spans come in the
 * order they were received, since their ids rise. One probe of `trace_pkey` and one range of `span_pkey`, both of which
 * start with the account, so that a foreign trace is not found. Sessions speak UTC.
 */
const readTraceSql = `
  SELECT json_build_object(
    'id', t.id, 'agent_id', t.agent_id, 'name', t.name, 'status', t.status,
    'started_at', ${iso("t.started_at")}, 'ended_at', ${iso("t.ended_at")},
    'metadata', t.metadata,
    'spans', COALESCE((
      SELECT json_agg(json_build_object(
        'id', s.id, 'name', s.name, 'status', s.status,
        'started_at', ${iso("s.started_at")}, 'ended_at', ${iso("s.ended_at")},
        'input', s.input, 'output', s.output, 'error', s.error, 'parent_span_id', s.parent_span_id
      ) ORDER BY s.id)
      FROM span s WHERE s.account_id = t.account_id AND s.trace_id = t.id
    ), '[]'::json)
  )::text AS json
  FROM trace t WHERE t.account_id = $1 AND t.id = $2`;

/** The account's trace with its spans as JSON text, or undefined where the account has none with that id. */
export async function readTrace(pool: pg.Pool, accountId: string, traceId: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ json: string }>({
    name: "read-trace",
    text: readTraceSql,
    values: [accountId, traceId],
  });
  return rows[0]?.json;
}
