// The requests that `pnpm bench analytics` times: each with the budget of its median on a site of ten million events, and with
// plain SQL that counts the same over raw events, from $2 until before $3.

/** Goals of a site: two pages, a pattern and a custom event; the funnel has them in this order. */
const goals = [{ page: "/" }, { page: "/docs/*" }, { page: "/blog/page-1" }, { event: "signup" }];

/** The conditions of the goals in plain SQL, in the order of the funnel. */
const goalConditions = [
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

const visitMetrics = "metrics=visits,bounceRate,visitDuration,viewsPerVisit,events";
const pageviews = "event WHERE site_id = $1 AND id >= uuid_floor($2) AND id < uuid_floor($3) AND type = 'pageview'";
const day = "(at AT TIME ZONE 'UTC')::date";

const topSql = (column) => `
  SELECT value, sum(visitors), sum(pageviews) FROM (
    SELECT ${day} AS day, ${column} AS value, count(DISTINCT visitor) AS visitors, count(*) AS pageviews
    FROM ${pageviews} AND ${column} IS NOT NULL GROUP BY 1, 2
  ) AS days GROUP BY value ORDER BY 2 DESC, 3 DESC, 1 LIMIT 10`;

const contractSql = [
  `SELECT ${day}, count(DISTINCT visitor), count(*) FROM ${pageviews} GROUP BY 1 ORDER BY 1`,
  ...["path", "source", "country", "channel"].map(topSql),
  `SELECT name, key, each.value, count(*) FROM event CROSS JOIN LATERAL json_each_text(props) AS each (key, value)
   WHERE site_id = $1 AND id >= uuid_floor($2) AND id < uuid_floor($3) AND type = 'event' GROUP BY 1, 2, 3`,
];

/** A row per visit of a visitor's day: views and events with less than 30 minutes between them. */
const visitsCte = `
  moment AS (
    SELECT id, at, type, visitor, path, source, channel, country, browser, os, device, ${day} AS day,
      at - lag(at) OVER visitor_day AS pause
    FROM event
    WHERE site_id = $1 AND id >= uuid_floor($2) AND id < uuid_floor($3) AND visitor IS NOT NULL
    WINDOW visitor_day AS (PARTITION BY visitor, ${day} ORDER BY at, id)
  ), numbered AS (
    SELECT *, count(*) FILTER (WHERE pause >= '30 minutes') OVER (PARTITION BY visitor, day ORDER BY at, id) AS number FROM moment
  ), visit AS (
    SELECT day, visitor, number, max(at) - min(at) AS duration, count(*) FILTER (WHERE type = 'pageview') AS views,
      count(*) FILTER (WHERE type = 'event') AS events,
      (array_agg(path ORDER BY at, id) FILTER (WHERE type = 'pageview'))[1] AS entry_path,
      (array_agg(path ORDER BY at DESC, id DESC) FILTER (WHERE type = 'pageview'))[1] AS exit_path,
      (array_agg(ROW(source, channel, country, browser, os, device)::text ORDER BY type = 'event', at, id))[1] AS origin
    FROM numbered GROUP BY day, visitor, number
  )`;

const visitSums = `count(*), count(*) FILTER (WHERE views = 1 AND events = 0), sum(duration), sum(views), sum(events)`;

const visitsSql = [
  `WITH ${visitsCte} SELECT day, entry_path, exit_path, origin, ${visitSums} FROM visit
   GROUP BY GROUPING SETS ((day), (entry_path), (exit_path), (origin))`,
  `WITH ${visitsCte} SELECT path, ${visitSums} FROM visit
   JOIN (SELECT DISTINCT day, visitor, number, path FROM numbered WHERE type = 'pageview') AS page USING (day, visitor, number)
   GROUP BY path`,
];

/** The figures and pages of visits under a condition on `visit`. */
const filteredSql = (condition) => {
  const matching = `WITH ${visitsCte}, matching AS (SELECT * FROM visit WHERE ${condition})`;
  return [
    `${matching} SELECT day, origin, ${visitSums} FROM matching GROUP BY GROUPING SETS ((day), (origin))`,
    `${matching} SELECT path, count(*), count(DISTINCT (day, visitor)) FROM numbered JOIN matching USING (day, visitor, number)
     WHERE type = 'pageview' GROUP BY path ORDER BY 3 DESC LIMIT 10`,
  ];
};

/** @param text filters as in an address */
const filteredStats = (what, budgetMs, text, condition) => ({
  what,
  paths: (range) => [`stats?${range}&${visitMetrics}&filters=${encodeURIComponent(text)}`],
  budgetMs,
  sql: filteredSql(condition),
});

const events = "event WHERE site_id = $1 AND id >= uuid_floor($2) AND id < uuid_floor($3)";

const goalFigures = goalConditions.map(
  (condition) => `count(*) FILTER (WHERE ${condition}), count(DISTINCT visitor) FILTER (WHERE ${condition})`,
);
const goalsSql = [`SELECT ${day}, ${goalFigures.join(", ")} FROM ${events} GROUP BY 1`];

/** The first moment at which each visitor's day has the steps up to one. */
const stepsCte = goalConditions.map((condition, step) =>
  step === 0
    ? `step0 AS (SELECT visitor, day, min(at) AS at FROM moment WHERE ${condition} GROUP BY 1, 2)`
    : `step${step} AS (
        SELECT visitor, day, min(moment.at) AS at FROM moment JOIN step${step - 1} AS before USING (visitor, day)
        WHERE moment.at > before.at AND ${condition} GROUP BY 1, 2)`,
);
const funnelSql = [
  `WITH moment AS (SELECT *, ${day} AS day FROM ${events} AND visitor IS NOT NULL), ${stepsCte.join(", ")}
   ${goalConditions.map((_, step) => `SELECT count(*) FROM step${step}`).join(" UNION ALL ")}`,
];

/** `paths` are asked one after the other and timed together; `range` is `from=…&to=…`, `site` has a `funnelId`. */
export const statsRequests = [
  {
    what: "stats and events",
    paths: (range) => [`stats?${range}`, `events?${range}`],
    budgetMs: null,
    sql: contractSql,
  },
  {
    what: "stats with visits' figures",
    paths: (range) => [`stats?${range}&interval=day&compare=previous&${visitMetrics}`],
    budgetMs: 30,
    sql: visitsSql,
  },
  filteredStats("one filter: a country", 250, "country:is:DE", "origin ~ '^[(][^,]*,[^,]*,DE,'"),
  filteredStats(
    "three filters: country, browser, device",
    300,
    "country:is:DE|FR;browser:is:Chrome;device:is:desktop",
    "origin ~ '^[(][^,]*,[^,]*,(DE|FR),Chrome,[^,]*,desktop[)]$'",
  ),
  filteredStats(
    "a filter of pages",
    800,
    "page:contains:/docs",
    `EXISTS (SELECT FROM numbered WHERE type = 'pageview' AND path LIKE '%/docs%'
       AND (day, visitor, number) = (visit.day, visit.visitor, visit.number))`,
  ),
  {
    what: "four goals",
    paths: (range) => [`goals?${range}`],
    budgetMs: null,
    sql: goalsSql,
  },
  {
    what: "a funnel of four steps",
    paths: (range, site) => [`funnels/${site.funnelId}?${range}`],
    budgetMs: 1_000,
    sql: funnelSql,
  },
];
