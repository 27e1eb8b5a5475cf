// The requests that `pnpm bench analytics` times: each with the budget of its median on a site of ten million events.

/** Goals of a site: two pages, a pattern and a custom event; the funnel has them in this order. */
const goals = [{ page: "/" }, { page: "/docs/*" }, { page: "/blog/page-1" }, { event: "signup" }];

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

const visitMetrics = "metrics=visits,bounceRate,visitDuration,viewsPerVisit,events";
/** @param text filters as in an address */
const filteredStats = (what, budgetMs, text) => ({
  what,
  paths: (range) => [`stats?${range}&${visitMetrics}&filters=${encodeURIComponent(text)}`],
  budgetMs,
});

/** `paths` are asked one after the other and timed together; `range` is `from=…&to=…`, `site` has a `funnelId`. */
export const statsRequests = [
  { what: "stats and events", paths: (range) => [`stats?${range}`, `events?${range}`], budgetMs: null },
  {
    what: "stats with visits' figures",
    paths: (range) => [`stats?${range}&interval=day&compare=previous&${visitMetrics}`],
    budgetMs: 30,
  },
  filteredStats("one filter: a country", 250, "country:is:DE"),
  filteredStats("three filters: country, browser, device", 300, "country:is:DE|FR;browser:is:Chrome;device:is:desktop"),
  filteredStats("a filter of pages", 800, "page:contains:/docs"),
  { what: "four goals", paths: (range) => [`goals?${range}`], budgetMs: null },
  {
    what: "a funnel of four steps",
    paths: (range, site) => [`funnels/${site.funnelId}?${range}`],
    budgetMs: 1_000,
  },
];
