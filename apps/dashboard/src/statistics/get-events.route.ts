import { pageRoute } from "@waymark/service/http";
import {
  type Filtering,
  readCustomEvents,
  readEventDays,
  readFilteredEvents,
  readInTime,
  resolveRange,
} from "@waymark/web-stats/statistics";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import { type SiteEvents, siteEventsQuery } from "./site-stats.schema.js";

export function getEventsRoute(deps: StatisticsDeps) {
  return pageRoute({
    method: "get",
    path: "/sites/:id/events",
    query: siteEventsQuery,
    async handle(input) {
      const now = deps.now();
      const { asked, ...days } = resolveRange(input.query, now);
      const read = async (
        siteId: string,
        filtering: Filtering | undefined,
      ): Promise<Pick<SiteEvents, "events" | "coverage">> => {
        if (!filtering) return { events: await readCustomEvents(deps.pool, { siteId, ...days }) };
        const events = await readFilteredEvents(filtering, { siteId, days });
        const coverage = await readEventDays(deps.pool, { siteId, ...days });
        return { events, ...(coverage && { coverage }) };
      };
      const body = await readOwnSite(deps, input, async (site, filtering): Promise<SiteEvents> => {
        const figures = await readInTime(asked, read(site.id, filtering));
        return { ...asked, site, days, now: now.toISOString(), ...figures };
      });
      return { status: 200, body };
    },
  });
}
