import { validationError } from "@waymark/errors";
import { type Answer, pageRoute } from "@waymark/service/http";
import { type ListName, listNames } from "@waymark/web-stats/lists";
import {
  createOverviewReader,
  csvType,
  type Filtering,
  hasEvents,
  readCoverage,
  readInTime,
  readList,
  readStatistics,
  resolveRange,
  writeCsv,
} from "@waymark/web-stats/statistics";
import type { z } from "zod";
import { readOwnSite, type StatisticsDeps } from "./read-own-site.js";
import { type SiteStats, siteStatsQuery } from "./site-stats.schema.js";

type Query = z.output<typeof siteStatsQuery>;

/** `GET /sites/:id/stats`: all lists unless the request names some. */
export function getStatsRoute(deps: StatisticsDeps) {
  const readOverview = createOverviewReader(deps.pool);
  return pageRoute({
    method: "get",
    path: "/sites/:id/stats",
    query: siteStatsQuery,
    async handle(input): Promise<Answer> {
      const { query } = input;
      const csvList = query.csv && requireOneList(query);
      if (csvList) return answerCsv(deps, input, csvList);
      const now = deps.now();
      const { asked, ...days } = resolveRange(query, now);
      const { limit, compare: comparison } = query;
      const lists = query.lists.length > 0 ? query.lists : listNames;
      const body = await readOwnSite(deps, input, (site, filtering) => readInTime(asked, readAll(site, filtering)));
      return { status: 200, body };

      async function readAll(site: SiteStats["site"], filtering: Filtering | undefined): Promise<SiteStats> {
        const siteId = site.id;
        const range = { asked, ...days };
        const asInApi = { siteId, range, lists, limit, withPrevious: false, metrics: [], filtering };
        const statistics = await readStatistics(deps.pool, asInApi);
        const overview = await readOverview({ siteId, range: days, comparison, now, filtering });
        const coverage = filtering
          ? statistics.coverage
          : await readCoverage(deps.pool, { siteId, ...days, need: "visits" });
        const found = await hasEvents(deps.pool, siteId);
        const answer = { ...statistics, site, days, now: now.toISOString(), hasEvents: found, overview };
        return { ...answer, ...(coverage && { coverage }) };
      }
    },
  });
}

type Input = Parameters<typeof readOwnSite>[1] & { query: Query };

async function answerCsv(deps: StatisticsDeps, input: Input, list: ListName): Promise<Answer> {
  const { asked, ...days } = resolveRange(input.query, deps.now());
  const { limit } = input.query;
  return readOwnSite(deps, input, async ({ id: siteId, domain }, filtering) => {
    const rows = await readInTime(asked, readList(deps.pool, { siteId, range: days, list, limit, filtering }));
    const name = `${domain.replace(/[^\w.-]/g, "_")}-${list}-${days.first}-${days.last}.csv`;
    const headers = { "Content-Disposition": `attachment; filename="${name}"` };
    return { status: 200, contentType: csvType, headers, body: writeCsv(list, rows) };
  });
}

/** @throws AppError 400 unless the query names one list */
function requireOneList({ lists: [name, ...more] }: Query): ListName {
  if (name === undefined || more.length > 0) throw validationError({ lists: "Must name exactly one list for CSV" });
  return name;
}
