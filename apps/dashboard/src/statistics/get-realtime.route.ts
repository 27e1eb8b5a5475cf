import { route } from "@waymark/service/http";
import { filtersParameter, readFilteredRealtime, readRealtime, realtimeMinutes } from "@waymark/web-stats/statistics";
import { z } from "zod";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import type { SiteRealtime } from "./site-stats.schema.js";

export function getRealtimeRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/realtime",
    operationId: "getRealtime",
    summary: `Read how many visitors opened a page in the last ${realtimeMinutes} minutes`,
    query: z.object({ filters: filtersParameter }),
    answers: { 200: { description: "The visitors", schema: z.custom<SiteRealtime>() } },
    async handle(input) {
      const body: SiteRealtime = await readOwnSite(deps, input, ({ id: siteId }, filtering) => {
        const asked = { siteId, now: deps.now() };
        return filtering ? readFilteredRealtime(filtering, asked) : readRealtime(deps.pool, asked);
      });
      return { status: 200, body };
    },
  });
}
