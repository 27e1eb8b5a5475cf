// Goals of a bench's site: two pages, a pattern and a custom event, and a funnel of them.

const goals = [{ page: "/" }, { page: "/docs/*" }, { page: "/blog/page-1" }, { event: "signup" }];

/** The conditions of the goals in plain SQL, in the order of the funnel. */
export const goalConditions = [
  "type = 'pageview' AND path = '/'",
  "type = 'pageview' AND path LIKE '/docs/%'",
  "type = 'pageview' AND path = '/blog/page-1'",
  "type = 'event' AND name = 'signup'",
];

const insertGoalSql = `
  INSERT INTO goal (site_id, id, name, event, page) VALUES ($1, gen_random_uuid(), 'bench', $2, $3) RETURNING id`;

const insertFunnelSql = `
  WITH made AS (INSERT INTO funnel (site_id, id, name) VALUES ($1, gen_random_uuid(), 'bench') RETURNING id)
  INSERT INTO funnel_step (site_id, funnel_id, position, goal_id)
  SELECT $1, made.id, position, goal_id FROM made, unnest($2::uuid[]) WITH ORDINALITY AS step (goal_id, position)
  RETURNING funnel_id`;

/** @returns the id of the site's funnel, made where there is none */
export async function makeFunnel(pool, siteId) {
  const { rows: found } = await pool.query("SELECT id FROM funnel WHERE site_id = $1 AND name = 'bench'", [siteId]);
  if (found[0]) return found[0].id;
  const ids = [];
  for (const { event = null, page = null } of goals) {
    const { rows } = await pool.query(insertGoalSql, [siteId, event, page]);
    ids.push(rows[0].id);
  }
  const { rows } = await pool.query(insertFunnelSql, [siteId, ids]);
  return rows[0].funnel_id;
}
