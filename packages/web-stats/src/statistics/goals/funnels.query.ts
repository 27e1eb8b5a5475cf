import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";
import { type Goal, nameProblem } from "./goal.js";
import { isForeignKeyViolation, lockSite } from "./goals.query.js";

interface FunnelInput {
  name: string;
  /** Ids of the site's goals in their order. */
  steps: readonly string[];
}

export interface Funnel {
  id: string;
  name: string;
  steps: Goal[];
}

const maxFunnelsPerSite = 50;

const funnelSteps = { min: 2, max: 8 } as const;

const uuid = createUuidV7();

/** The site's number of funnels, and its goals among the steps: ranges of `funnel_site_id_id_key` and `goal_site_id_id_key`. */
const findStepsSql = `
  SELECT (SELECT count(*)::int FROM funnel WHERE site_id = $1) AS funnels,
    ARRAY(SELECT id::text FROM goal WHERE site_id = $1 AND id = ANY ($2::uuid[])) AS goals`;

/** The foreign keys keep the goals. */
const insertFunnelSql = `
  WITH made AS (INSERT INTO funnel (site_id, id, name) VALUES ($1, $2, $3))
  INSERT INTO funnel_step (site_id, funnel_id, position, goal_id)
  SELECT $1, $2, position, goal_id FROM unnest($4::uuid[]) WITH ORDINALITY AS step (goal_id, position)`;

/**
 * Creates a funnel of a site. A goal may be a step more than once.
 * @throws AppError 400 for a wrong name or step, 404 for an unknown site, 409 for a site with 50 funnels
 */
export async function createFunnel(
  pool: pg.Pool,
  siteId: string,
  { name, steps }: FunnelInput,
): Promise<Pick<Funnel, "id" | "name">> {
  checkFunnel({ name, steps });
  const id = uuid();
  return withTransaction(pool, async (transaction) => {
    await lockSite(transaction, siteId);
    const { rows } = await transaction.query<{ funnels: number; goals: string[] }>(findStepsSql, [siteId, steps]);
    const { funnels = 0, goals = [] } = rows[0] ?? {};
    const unknown = steps.find((step) => !goals.includes(step.toLowerCase()));
    if (unknown !== undefined) throw unknownStep(unknown);
    if (funnels >= maxFunnelsPerSite) {
      const reason = `A site has at most ${maxFunnelsPerSite} funnels.`;
      throw new AppError("site_full", { details: { limit: maxFunnelsPerSite, reason } });
    }
    await transaction.query(insertFunnelSql, [siteId, id, name, steps]).catch(refuseDeleted);
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

/** The site's funnels with their steps, oldest first. */
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

/** A probe of `funnel_pkey`; the foreign key takes the steps along. */
const deleteFunnelSql = "DELETE FROM funnel WHERE id = $1 AND ($2::uuid IS NULL OR site_id = $2) RETURNING id, name";

/**
 * Its goals stay.
 * @param reference an operator names no site
 * @throws AppError 404 for an unknown funnel or one of another site
 */
export async function deleteFunnel(
  pool: pg.Pool,
  { siteId, funnelId }: { siteId?: string | undefined; funnelId: string },
): Promise<Pick<Funnel, "id" | "name">> {
  const { rows } = isUuid(funnelId)
    ? await pool.query<Pick<Funnel, "id" | "name">>(deleteFunnelSql, [funnelId, siteId ?? null])
    : { rows: [] };
  if (!rows[0]) throw new AppError("funnel_not_found");
  return rows[0];
}
