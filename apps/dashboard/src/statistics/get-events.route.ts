import { route } from "@waymark/http";
import { readCustomEvents, readInTime, resolveRange } from "@waymark/statistics";
import { z } from "zod";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import { type SiteEvents, siteEventsQuery } from "./site-stats.schema.js";

export function getEventsRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/events",
    operationId: "getEvents",
    summary: "Read a site's custom events with their properties",
    query: siteEventsQuery,
    answers: { 200: { description: "The custom events", schema: z.custom<SiteEvents>() } },
    async handle(input) {
      const now = deps.now();
      const { asked, ...days } = resolveRange(input.query, now);
      const body = await readOwnSite(deps, input, async (site): Promise<SiteEvents> => {
        const events = await readInTime(asked, readCustomEvents(deps.pool, { siteId: site.id, ...days }));
        return { ...asked, site, days, now: now.toISOString(), events };
      });
      return { status: 200, body };
    },
  });
}
