import type { Queryable } from "@waymark/database";
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
