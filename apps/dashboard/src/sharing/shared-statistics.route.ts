import { rangeQuery, type StatisticsDeps } from "@waymark/web-stats/statistics";
import { routeFor } from "../session/viewer.js";
import {
  readSiteEvents,
  readSiteRealtime,
  realtimeQuery,
  type SiteStats,
  siteStatsRoute,
} from "../statistics/statistics.route.js";
import { linkOf } from "./opened-link.js";

const sharedRoute = routeFor(linkOf);

/** The site's name and id stay with the account. */
function withoutNames<Body extends Pick<SiteStats, "site">>({ site: { domain }, ...figures }: Body) {
  return { ...figures, site: { domain } };
}

/** Below `/dashboard/api/shared`. Account and site come from the link, never from the request. */
export function sharedStatisticsRoutes(deps: StatisticsDeps) {
  return [
    siteStatsRoute(deps, { path: "/:token/stats", askerOf: linkOf, show: withoutNames }),
    sharedRoute("get", "/:token/events", {
      query: rangeQuery,
      handle: async (input) => withoutNames(await readSiteEvents(deps, input.viewer, input)),
    }),
    sharedRoute("get", "/:token/realtime", {
      query: realtimeQuery,
      handle: (input) => readSiteRealtime(deps, input.viewer, input),
    }),
  ];
}
