import type { Queryable } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { plansWithAlerts } from "./alert-rule.js";

/** @param sql selects what the account has. @throws AppError 409 where that is the limit or more */
export async function requireRoom(
  client: Queryable,
  sql: string,
  values: readonly string[],
  { limit, what }: { limit: number; what: string },
): Promise<void> {
  const { rowCount } = await client.query(sql, [...values]);
  if ((rowCount ?? 0) < limit) return;
  throw new AppError("account_full", { details: { limit, reason: `An account has at most ${limit} ${what}.` } });
}

/** A probe of `account_pkey`. @throws AppError 400 for an account without alerts */
export async function requirePlan(client: Queryable, accountId: string, what: "Channels" | "Rules"): Promise<void> {
  const sql = "SELECT FROM account WHERE id = $1 AND plan = ANY ($2)";
  const { rowCount } = await client.query(sql, [accountId, plansWithAlerts]);
  if (rowCount !== 1) throw new AppError("validation_failed", { details: { reason: `${what} need the Pro plan.` } });
}
