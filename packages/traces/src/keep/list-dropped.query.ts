import type pg from "pg";
import { z } from "zod";

/** The names in an answer; a row without a name has the rest. */
export const maxListedNames = 100;

export const droppedNameSchema = z.object({
  name: z.string().nullable().describe("null for further names, and for traces whose root never came"),
  traces: z.number(),
});

/** A range of `dropped_name_pkey`, at most a thousand rows. */
const listDroppedSql = `
  SELECT CASE WHEN position <= $3 THEN name END AS name, sum(traces)::int AS traces FROM (
    SELECT NULLIF(name, '') AS name, traces, row_number() OVER (ORDER BY name = '', traces DESC, name) AS position
    FROM dropped_name WHERE account_id = $1 AND month = $2
  ) AS ordered GROUP BY 1 ORDER BY min(position)`;

/** The traces that an account did not keep in a month by the name of their root, the most frequent first. */
export async function listDropped(
  pool: pg.Pool,
  { accountId, month }: { accountId: string; month: string },
): Promise<z.output<typeof droppedNameSchema>[]> {
  const values = [accountId, month, maxListedNames];
  return (await pool.query<z.output<typeof droppedNameSchema>>(listDroppedSql, values)).rows;
}
