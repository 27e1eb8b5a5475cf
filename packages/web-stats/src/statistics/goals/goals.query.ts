import { createUuidV7, isUuid, type Queryable, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";

const text = z.string().optional();

/**
 * A goal as somebody asks for it: a custom event, perhaps with a property's value, or a page pattern: `*` stands for any text, ten
 * times at most, and the rest of the path must be the same. `readGoal` checks how the parts go together, and their lengths.
 */
export const goalInput = z.strictObject({ name: text, event: text, property: text, value: text, page: text });

export type GoalInput = z.infer<typeof goalInput>;

/** What fulfils a goal. Absent parts are null. */
type GoalRule = Record<"event" | "property" | "value" | "page", string | null>;

export interface Goal extends GoalRule {
  id: string;
  name: string;
}

const maxGoalsPerSite = 100;

const maxNameBytes = 200;

/** As events have them (`packages/web-stats/src/analytics`); a longer text would never match. */
const maxBytes = { event: 200, property: 200, value: 2_000, page: 2_000 } as const;

/** Goals of former releases may have more. */
const maxStars = 10;

type Fields = Record<string, string>;

/** Checks a goal. Without a name it gets its rule's. @throws AppError 400 with a message per field */
export function readGoal(input: GoalInput): Omit<Goal, "id"> {
  const { event = null, property = null, value = null, page = null } = input;
  const rule = { event, property, value, page };
  const fields: Fields = {};
  if (event === null && page === null) fields["event"] = "Required without page";
  if (event !== null && page !== null) fields["page"] = "Must not be given together with event";
  if (property !== null && event === null) fields["property"] = "Must be given together with event";
  if (property === null && value !== null) fields["property"] = "Required together with value";
  if (property !== null && value === null) fields["value"] = "Required together with property";
  for (const part of ["event", "property", "value", "page"] as const) {
    const problem = rule[part] !== null && lengthProblem(rule[part], maxBytes[part], part === "value" ? 0 : 1);
    if (problem) fields[part] = problem;
  }
  if ((page ?? "").split("*").length - 1 > maxStars) fields["page"] ??= `Must have at most ${maxStars} *`;
  const name = input.name ?? cut(nameOf(rule));
  const problem = nameProblem(name);
  if (input.name !== undefined && problem) fields["name"] = problem;
  if (Object.keys(fields).length > 0) throw validationError(fields);
  return { name, ...rule };
}

function nameOf({ event, property, value, page }: GoalRule): string {
  return page ?? (property === null ? (event ?? "") : `${event}: ${property}=${value}`);
}

function nameProblem(name: string): string | undefined {
  return name.trim() === "" ? "Must not be blank" : lengthProblem(name, maxNameBytes, 1);
}

function lengthProblem(text: string, max: number, min: number): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes < min) return "Must not be empty";
  return bytes > max ? `Must be at most ${max} bytes of UTF-8` : textProblem(text);
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= maxNameBytes) return text;
  const kept = Buffer.from(text).subarray(0, maxNameBytes - 3);
  // A character that was cut in half becomes U+FFFD.
  return `${new TextDecoder().decode(kept, { stream: true })}…`;
}

const uuid = createUuidV7();

const insertGoalSql =
  "INSERT INTO goal (site_id, id, name, event, property, value, page) VALUES ($1, $2, $3, $4, $5, $6, $7)";

/** A probe of `goal_site_id_id_key`. */
const changeGoalSql = `
  UPDATE goal SET name = $3, event = $4, property = $5, value = $6, page = $7 WHERE site_id = $1 AND id = $2`;

/** Gives a goal another rule, also for past events. @throws AppError 400, 404 for an unknown goal or one of another site */
export async function changeGoal(
  pool: pg.Pool,
  { siteId, goalId }: { siteId: string; goalId: string },
  input: GoalInput,
): Promise<Named> {
  const { name, event, property, value, page } = readGoal(input);
  const values = [siteId, goalId, name, event, property, value, page];
  const { rowCount } = isUuid(goalId) ? await pool.query(changeGoalSql, values) : { rowCount: 0 };
  if (rowCount !== 1) throw new AppError("goal_not_found");
  return { id: goalId, name };
}

/** A goal counts past events, too. @throws AppError 400, 404 for an unknown site, 409 for a site with 100 goals */
export async function createGoal(pool: pg.Pool, siteId: string, input: GoalInput): Promise<Goal> {
  const goal = { id: uuid(), ...readGoal(input) };
  const { id, name, event, property, value, page } = goal;
  return withTransaction(pool, async (transaction) => {
    await lockSite(transaction, siteId);
    const { rowCount } = await transaction.query("SELECT FROM goal WHERE site_id = $1", [siteId]);
    refuseFull(rowCount ?? 0, maxGoalsPerSite, "goals");
    await transaction.query(insertGoalSql, [siteId, id, name, event, property, value, page]);
    return goal;
  });
}

function refuseFull(count: number, limit: number, what: string): void {
  if (count < limit) return;
  throw new AppError("site_full", { details: { limit, reason: `A site has at most ${limit} ${what}.` } });
}

/** A range of `goal_site_id_id_key`, in order of creation. */
const listGoalsSql = "SELECT id, name, event, property, value, page FROM goal WHERE site_id = $1 ORDER BY id";

export async function listGoals(pool: Queryable, siteId: string): Promise<Goal[]> {
  const { rows } = await pool.query<Goal>({ name: "list-goals", text: listGoalsSql, values: [siteId] });
  return rows;
}

type Named = Pick<Goal, "id" | "name">;

/** A probe of the primary key; an operator names no site. */
async function deleteOfSite(pool: pg.Pool, table: "goal" | "funnel", id: string, siteId: string | undefined) {
  if (!isUuid(id)) return undefined;
  const sql = `DELETE FROM ${table} WHERE id = $1 AND ($2::uuid IS NULL OR site_id = $2) RETURNING id, name`;
  return (await pool.query<Named>(sql, [id, siteId ?? null])).rows[0];
}

/** @throws AppError 404 for an unknown goal or one of another site, 409 for a goal of a funnel: a foreign key refuses */
export async function deleteGoal(
  pool: pg.Pool,
  { siteId, goalId }: { siteId?: string | undefined; goalId: string },
): Promise<Named> {
  const goal = await deleteOfSite(pool, "goal", goalId, siteId).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? new AppError("goal_in_use", { cause: error }) : error;
  });
  if (!goal) throw new AppError("goal_not_found");
  return goal;
}

/** Writers of one site's goals or funnels wait for each other, so their bounds are exact. @throws AppError 404 */
async function lockSite(transaction: pg.ClientBase, siteId: string): Promise<void> {
  const sql = "SELECT FROM site WHERE id = $1 FOR NO KEY UPDATE";
  const { rowCount } = isUuid(siteId) ? await transaction.query(sql, [siteId]) : { rowCount: 0 };
  if (rowCount !== 1) throw new AppError("site_not_found");
}

/** SQLSTATE 23503 (Postgres documentation, appendix A). */
function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23503";
}

/** The steps are ids of the site's goals in their order. */
export const funnelInput = z.strictObject({ name: z.string(), steps: z.array(z.string()) });

type FunnelInput = z.infer<typeof funnelInput>;

export interface Funnel {
  id: string;
  name: string;
  steps: Goal[];
}

const maxFunnelsPerSite = 50;

export const funnelSteps = { min: 2, max: 8 } as const;

/** The site's number of funnels, and its goals among the steps: ranges of `funnel_site_id_id_key` and `goal_site_id_id_key`. */
const findStepsSql = `
  SELECT (SELECT count(*)::int FROM funnel WHERE site_id = $1) AS funnels,
    ARRAY(SELECT id::text FROM goal WHERE site_id = $1 AND id = ANY ($2::uuid[])) AS goals`;

const insertFunnelSql = "INSERT INTO funnel (site_id, id, name) VALUES ($1, $2, $3)";

/** A probe of `funnel_site_id_id_key`; its row lock makes changes of one funnel wait for each other. */
const renameFunnelSql = "UPDATE funnel SET name = $3 WHERE site_id = $1 AND id = $2";

/** A range of `funnel_step_pkey`. */
const deleteStepsSql = "DELETE FROM funnel_step WHERE site_id = $1 AND funnel_id = $2";

/** The foreign keys keep the goals. */
const insertStepsSql = `
  INSERT INTO funnel_step (site_id, funnel_id, position, goal_id)
  SELECT $1, $2, position, goal_id FROM unnest($3::uuid[]) WITH ORDINALITY AS step (goal_id, position)`;

/** A goal may be a step more than once. @throws AppError 400, 404 for an unknown site, 409 for 50 funnels */
export async function createFunnel(pool: pg.Pool, siteId: string, input: FunnelInput): Promise<Named> {
  const id = uuid();
  return writeFunnel(pool, { siteId, id }, input, async (transaction, funnels) => {
    refuseFull(funnels, maxFunnelsPerSite, "funnels");
    await transaction.query(insertFunnelSql, [siteId, id, input.name]);
  });
}

/** Gives a funnel another name and other steps. @throws AppError 400, 404 for an unknown funnel or one of another site */
export async function changeFunnel(
  pool: pg.Pool,
  { siteId, funnelId: id }: { siteId: string; funnelId: string },
  input: FunnelInput,
): Promise<Named> {
  return writeFunnel(pool, { siteId, id }, input, async (transaction) => {
    const values = [siteId, id, input.name];
    const { rowCount } = isUuid(id) ? await transaction.query(renameFunnelSql, values) : { rowCount: 0 };
    if (rowCount !== 1) throw new AppError("funnel_not_found");
    await transaction.query(deleteStepsSql, [siteId, id]);
  });
}

/** @param write makes or changes the funnel's row; it is told how many funnels the site has */
async function writeFunnel(
  pool: pg.Pool,
  { siteId, id }: { siteId: string; id: string },
  { name, steps }: FunnelInput,
  write: (transaction: pg.ClientBase, funnels: number) => Promise<void>,
): Promise<Named> {
  checkFunnel({ name, steps });
  return withTransaction(pool, async (transaction) => {
    await lockSite(transaction, siteId);
    const { rows } = await transaction.query<{ funnels: number; goals: string[] }>(findStepsSql, [siteId, steps]);
    const { funnels = 0, goals = [] } = rows[0] ?? {};
    const unknown = steps.find((step) => !goals.includes(step.toLowerCase()));
    if (unknown !== undefined) throw unknownStep(unknown);
    await write(transaction, funnels);
    await transaction.query(insertStepsSql, [siteId, id, steps]).catch(refuseDeleted);
    return { id, name };
  });
}

/** A goal was deleted since it was found. */
function refuseDeleted(error: unknown): never {
  throw isForeignKeyViolation(error) ? validationError({ steps: "A goal was just deleted" }, error) : error;
}

function checkFunnel({ name, steps }: FunnelInput): void {
  const { min, max } = funnelSteps;
  const problem = nameProblem(name);
  const isCount = steps.length >= min && steps.length <= max;
  const fields = { ...(problem && { name: problem }), ...(!isCount && { steps: `Must be ${min} to ${max} goals` }) };
  if (Object.keys(fields).length > 0) throw validationError(fields);
  const unknown = steps.find((step) => !isUuid(step));
  if (unknown !== undefined) throw unknownStep(unknown);
}

function unknownStep(id: string): AppError {
  return validationError({ steps: `The site has no goal '${id.slice(0, 100)}'` });
}

/** A row per step. Ranges of `funnel_site_id_id_key` and `funnel_step_pkey`; each goal is a probe of `goal_site_id_id_key`. */
const listStepsSql = `
  SELECT funnel.id AS "funnelId", funnel.name AS "funnelName",
    goal.id, goal.name, goal.event, goal.property, goal.value, goal.page
  FROM funnel
  JOIN funnel_step AS step ON step.site_id = funnel.site_id AND step.funnel_id = funnel.id
  JOIN goal ON goal.site_id = step.site_id AND goal.id = step.goal_id
  WHERE funnel.site_id = $1 AND ($2::uuid IS NULL OR funnel.id = $2)
  ORDER BY funnel.id, step.position`;

export async function listFunnels(pool: pg.Pool, siteId: string, funnelId?: string): Promise<Funnel[]> {
  const query = { name: "list-funnels", text: listStepsSql, values: [siteId, funnelId ?? null] };
  const { rows } = await pool.query<Goal & { funnelId: string; funnelName: string }>(query);
  const funnels = new Map<string, Funnel>();
  for (const { funnelId: id, funnelName: name, ...goal } of rows) {
    const funnel = funnels.get(id) ?? { id, name, steps: [] };
    funnel.steps.push(goal);
    funnels.set(id, funnel);
  }
  return [...funnels.values()];
}

/** @throws AppError 404 when the site has no such funnel */
export async function requireFunnel(pool: pg.Pool, siteId: string, funnelId: string): Promise<Funnel> {
  const [funnel] = isUuid(funnelId) ? await listFunnels(pool, siteId, funnelId) : [];
  if (!funnel) throw new AppError("funnel_not_found");
  return funnel;
}

/** Its goals stay; the foreign key takes the steps along. @throws AppError 404 for an unknown funnel or one of another site */
export async function deleteFunnel(
  pool: pg.Pool,
  { siteId, funnelId }: { siteId?: string | undefined; funnelId: string },
): Promise<Named> {
  const funnel = await deleteOfSite(pool, "funnel", funnelId, siteId);
  if (!funnel) throw new AppError("funnel_not_found");
  return funnel;
}
