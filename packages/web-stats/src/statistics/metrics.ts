/** Figures of visits on request, in the order of an answer. */
export const metricNames = ["visits", "bounceRate", "visitDuration", "viewsPerVisit", "events"] as const;

export type Metric = (typeof metricNames)[number];

/** Figures of pages on request, from reports of engagement. */
export const engagementNames = ["timeOnPage", "scrollDepth"] as const;

export type EngagementMetric = (typeof engagementNames)[number];

export const askedNames = [...metricNames, ...engagementNames] as const;

export type AskedMetric = (typeof askedNames)[number];

export const visitColumns = ["visits", "bounces", "visit_us", "visit_views", "events"] as const;

/**
 * What rows of `visit` count as. A row without page views and custom events is engagement that waits for a visit (`isWaiting` of
 * `packages/web-stats/src/analytics`), and counts nowhere.
 */
export const visitSql = {
  counts: "views + events > 0",
  isBounce: "views = 1 AND events = passive_events",
  us: "coalesce(end_us, last_us) - first_us",
} as const;

export type VisitSums = Record<(typeof visitColumns)[number], number>;

const readers: Readonly<Record<Metric, (sums: VisitSums) => number>> = {
  visits: ({ visits }) => visits,
  bounceRate: ({ visits, bounces }) => share(bounces, visits),
  visitDuration: ({ visits, visit_us }) => share(visit_us / 1_000_000, visits),
  viewsPerVisit: ({ visits, visit_views }) => share(visit_views, visits),
  events: ({ events }) => events,
};

function share(sum: number, visits: number): number {
  return visits === 0 ? 0 : sum / visits;
}

export function isOfVisits(name: AskedMetric): name is Metric {
  return !isOfEngagement(name);
}

export function isOfEngagement(name: AskedMetric): name is EngagementMetric {
  return (engagementNames as readonly string[]).includes(name);
}

export function toMetrics(names: readonly Metric[], sums: VisitSums): Partial<Record<Metric, number>> {
  return Object.fromEntries(
    metricNames.filter((name) => names.includes(name)).map((name) => [name, readers[name](sums)]),
  );
}
