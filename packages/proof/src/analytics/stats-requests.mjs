// The requests that `pnpm bench analytics` times: each with the budget of its median on a site of ten million events.
import { createFunnel, createGoal, listFunnels } from "@waymark/web-stats/statistics";

/** Goals of a site: two pages, a pattern and a custom event; the funnel has them in this order. */
const goals = [{ page: "/" }, { page: "/docs/*" }, { page: "/blog/page-1" }, { event: "signup" }];

/** @returns the id of the site's funnel, made where there is none */
export async function makeFunnel(pool, siteId) {
  const [found] = await listFunnels(pool, siteId);
  if (found) return found.id;
  const steps = [];
  for (const goal of goals) steps.push((await createGoal(pool, siteId, goal)).id);
  return (await createFunnel(pool, siteId, { name: "bench", steps })).id;
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
