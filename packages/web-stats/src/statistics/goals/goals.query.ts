import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { type Goal, type GoalInput, maxGoalsPerSite, readGoal } from "./goal.js";

const uuid = createUuidV7();

/** A range of `goal_site_id_id_key`. */
const countGoalsSql = "SELECT count(*)::int AS count FROM goal WHERE site_id = $1";

const insertGoalSql =
  "INSERT INTO goal (site_id, id, name, event, property, value, page) VALUES ($1, $2, $3, $4, $5, $6, $7)";

/**
 * Creates a goal of a site. It counts events of the past, too.
 * @throws AppError 400 for a wrong field, 404 for an unknown site, 409 for a site with 100 goals
 */
export async function createGoal(pool: pg.Pool, siteId: string, input: GoalInput): Promise<Goal> {
  const goal = { id: uuid(), ...readGoal(input) };
  const { id, name, event, property, value, page } = goal;
  return withTransaction(pool, async (transaction) => {
    await lockSite(transaction, siteId);
    const { rows } = await transaction.query<{ count: number }>(countGoalsSql, [siteId]);
    if ((rows[0]?.count ?? 0) >= maxGoalsPerSite) {
      const reason = `A site has at most ${maxGoalsPerSite} goals.`;
      throw new AppError("site_full", { details: { limit: maxGoalsPerSite, reason } });
    }
    await transaction.query(insertGoalSql, [siteId, id, name, event, property, value, page]);
    return goal;
  });
}

/** A range of `goal_site_id_id_key`, in order of creation. */
const listGoalsSql = "SELECT id, name, event, property, value, page FROM goal WHERE site_id = $1 ORDER BY id";

/** The site's goals, oldest first. */
export async function listGoals(pool: pg.Pool, siteId: string): Promise<Goal[]> {
  const { rows } = await pool.query<Goal>({ name: "list-goals", text: listGoalsSql, values: [siteId] });
  return rows;
}

/** A probe of `goal_pkey`. The foreign key of `funnel_step` refuses a funnel's goal. */
const deleteGoalSql = "DELETE FROM goal WHERE id = $1 AND ($2::uuid IS NULL OR site_id = $2) RETURNING id, name";

/**
 * @param reference an operator names no site
 * @throws AppError 404 for an unknown goal or one of another site, 409 for a goal of a funnel
 */
export async function deleteGoal(
  pool: pg.Pool,
  { siteId, goalId }: { siteId?: string | undefined; goalId: string },
): Promise<Pick<Goal, "id" | "name">> {
  if (!isUuid(goalId)) throw new AppError("goal_not_found");
  try {
    const { rows } = await pool.query<Pick<Goal, "id" | "name">>(deleteGoalSql, [goalId, siteId ?? null]);
    if (rows[0]) return rows[0];
  } catch (error) {
    throw isForeignKeyViolation(error) ? new AppError("goal_in_use", { cause: error }) : error;
  }
  throw new AppError("goal_not_found");
}

/** A probe of `site_pkey`. Writers of one site's goals or funnels wait for each other, so their bounds are exact. */
const lockSiteSql = "SELECT FROM site WHERE id = $1 FOR NO KEY UPDATE";

/** @throws AppError 404 when there is no such site */
export async function lockSite(transaction: pg.ClientBase, siteId: string): Promise<void> {
  const { rowCount } = isUuid(siteId) ? await transaction.query(lockSiteSql, [siteId]) : { rowCount: 0 };
  if (rowCount !== 1) throw new AppError("site_not_found");
}

/** SQLSTATE `foreign_key_violation` (Postgres documentation, appendix A). */
const code = "23503";

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
