import type { Queryable } from "@waymark/database";
import type pg from "pg";
import { z } from "zod";
import type { Instrumentation } from "../statuses.js";

export const keepModes = ["all", "agents"] as const;
export type KeepMode = (typeof keepModes)[number];

/** Which traces of OpenTelemetry an account keeps, and the spans it leaves out of those of agents. */
export interface Kept {
  keep: KeepMode;
  leave_out: Instrumentation[];
}

/** A probe of `account_pkey`. A trigger tells running services within a second. */
const setKeepSql = `
  UPDATE account SET keep = COALESCE($2, keep), leave_out = COALESCE($3::text[], leave_out) WHERE id = $1
  RETURNING keep, leave_out`;

/** Changes the given members. @returns undefined for an unknown account */
export async function setKeep(
  database: Queryable,
  accountId: string,
  { keep, leave_out }: { keep?: KeepMode | undefined; leave_out?: readonly Instrumentation[] | undefined },
): Promise<Kept | undefined> {
  const leaveOut = leave_out && [...new Set(leave_out)].sort();
  const { rows } = await database.query<Kept>(setKeepSql, [accountId, keep ?? null, leaveOut ?? null]);
  return rows[0];
}

/** A probe of `account_pkey`. */
const readKeepSql = "SELECT keep FROM account WHERE id = $1";

export async function readKeep(database: Queryable, accountId: string): Promise<KeepMode | undefined> {
  return (await database.query<Pick<Kept, "keep">>(readKeepSql, [accountId])).rows[0]?.keep;
}

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
