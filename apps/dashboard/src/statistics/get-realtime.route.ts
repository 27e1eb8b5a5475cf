import { pageRoute } from "@waymark/service/http";
import { filtersParameter, readFilteredRealtime, readRealtime } from "@waymark/web-stats/statistics";
import { z } from "zod";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import type { SiteRealtime } from "./site-stats.schema.js";

export function getRealtimeRoute(deps: StatisticsDeps) {
  return pageRoute({
    method: "get",
    path: "/sites/:id/realtime",
    query: z.object({ filters: filtersParameter }),
    async handle(input) {
      const body: SiteRealtime = await readOwnSite(deps, input, ({ id: siteId }, filtering) => {
        const asked = { siteId, now: deps.now() };
        return filtering ? readFilteredRealtime(filtering, asked) : readRealtime(deps.pool, asked);
      });
      return { status: 200, body };
    },
  });
}
