import type pg from "pg";
import { type Labels, labelNames } from "./trace-fields.js";

/** One probe of `trace_pkey`. */
const readLabelsSql = `SELECT ${labelNames.join(", ")} FROM trace
  WHERE account_id = $1 AND id = $2`;

/** The labels of a trace; undefined if the account has none of that id. */
export async function readLabels(pool: pg.Pool, accountId: string, traceId: string): Promise<Labels | undefined> {
  const statement = { name: "read-labels", text: readLabelsSql, values: [accountId, traceId] };
  return (await pool.query<Labels>(statement)).rows[0];
}
