import type pg from "pg";

/** One probe of `trace_otel_trace_id_key`. */
const findOtelTraceSql = "SELECT id FROM trace WHERE account_id = $1 AND otel_trace_id = decode($2, 'hex')";

/** The id of the trace that OpenTelemetry knows by these 32 hexadecimal digits; undefined if the account has none. */
export async function findOtelTrace(pool: pg.Pool, accountId: string, digits: string): Promise<string | undefined> {
  const statement = { name: "find-otel-trace", text: findOtelTraceSql, values: [accountId, digits] };
  return (await pool.query<{ id: string }>(statement)).rows[0]?.id;
}
