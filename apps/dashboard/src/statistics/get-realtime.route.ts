import { route } from "@waymark/http";
import { readRealtime, realtimeMinutes } from "@waymark/statistics";
import { z } from "zod";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import type { SiteRealtime } from "./site-stats.schema.js";

export function getRealtimeRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/realtime",
    operationId: "getRealtime",
    summary: `Read how many visitors opened a page in the last ${realtimeMinutes} minutes`,
    answers: { 200: { description: "The visitors", schema: z.custom<SiteRealtime>() } },
    async handle(input) {
      const read = (siteId: string) => readRealtime(deps.pool, { siteId, now: deps.now() });
      const body: SiteRealtime = await readOwnSite(deps, input, ({ id }) => read(id));
      return { status: 200, body };
    },
  });
}
