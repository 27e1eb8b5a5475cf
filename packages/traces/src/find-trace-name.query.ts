import type pg from "pg";

/** One probe of `trace_pkey`. */
const findTraceNameSql = "SELECT name FROM trace WHERE account_id = $1 AND id = $2";

/** The name of a trace; undefined if the account has none of that id. */
export async function findTraceName(pool: pg.Pool, accountId: string, traceId: string): Promise<string | undefined> {
  const statement = { name: "find-trace-name", text: findTraceNameSql, values: [accountId, traceId] };
  return (await pool.query<{ name: string }>(statement)).rows[0]?.name;
}
