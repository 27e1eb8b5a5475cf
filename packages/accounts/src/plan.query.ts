import { isUuid } from "@waymark/database";
import { isPlanId, type PlanId } from "@waymark/plan";
import type pg from "pg";
import { AccountError } from "./account-error.js";

/** The pool, or the connection of a transaction. */
type Db = Pick<pg.ClientBase, "query">;

interface AccountPlan {
  id: string;
  email: string;
  plan: PlanId;
}

/** Probes of `account_pkey`. The trigger on `account` tells running services of a changed plan. */
const findPlanSql = "SELECT id, email, plan FROM account WHERE id = $1";
const changePlanSql = "UPDATE account SET plan = $2 WHERE id = $1 RETURNING id, email, plan";

/** @throws AccountError `unknown_account` */
export function findPlan(db: Db, id: string): Promise<AccountPlan> {
  return readOne(db, findPlanSql, id);
}

/** Moves an account to a plan; running services know within a second. @throws AccountError `unknown_account` */
export function changePlan(db: Db, id: string, plan: PlanId): Promise<AccountPlan> {
  return readOne(db, changePlanSql, id, plan);
}

async function readOne(db: Db, sql: string, id: string, ...values: string[]): Promise<AccountPlan> {
  const { rows } = isUuid(id) ? await db.query<AccountPlan>(sql, [id, ...values]) : { rows: [] };
  const row = rows[0];
  if (!row) throw new AccountError("unknown_account", `There is no account '${id}'.`);
  if (!isPlanId(row.plan)) throw new Error(`account ${id} has the unknown plan ${row.plan}`);
  return row;
}
