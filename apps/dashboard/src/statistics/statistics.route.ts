import { validationError } from "@waymark/errors";
import { type Answer, pageRoute } from "@waymark/service/http";
import { type ListName, listNames } from "@waymark/web-stats/lists";
import {
  type Asker,
  aiFiltersParameter,
  type CostFigures,
  checkRange,
  comparisons,
  costDimensions,
  createMachineMemory,
  createOverviewReader,
  csvType,
  type Filter,
  type Filtering,
  filtersParameter,
  hasEvents,
  limitParameter,
  listsParameter,
  type Overview,
  previousDays,
  rangeParameters,
  rangeQuery,
  readAi,
  readAiSeries,
  readCosts,
  readCoverage,
  readEvents,
  readInTime,
  readList,
  readOwnColumns,
  readOwnSite,
  readRealtime,
  readStatistics,
  resolveRange,
  type Site,
  type Statistics,
  type StatisticsDeps,
  writeCsv,
} from "@waymark/web-stats/statistics";
import type { Response } from "express";
import { z } from "zod";
import { type AnswerOf, viewerOf, viewerRoute } from "../session/viewer.js";

const siteStatsQuery = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: listsParameter,
    filters: filtersParameter,
    compare: z.enum(comparisons).default("previous"),
    csv: z.enum(["1"]).optional().describe("Answers the one list that `lists` names as a file"),
  })
  .superRefine(checkRange);

/** The answer of `GET /sites/:id/stats`: the API's members, and what a page needs beside them. */
export type SiteStats = Statistics & {
  /** A shared link's answer has the domain alone. */
  site: Pick<Site, "domain"> & Partial<Site>;
  /** The asked UTC days, both included. */
  days: { first: string; last: string };
  now: string;
  hasEvents: boolean;
  overview: Overview;
};

export type SiteEvents = AnswerOf<typeof statisticsRoutes, "get /sites/:id/events">;
export type SiteAi = AnswerOf<typeof statisticsRoutes, "get /sites/:id/ai">;
export type SiteRealtime = AnswerOf<typeof statisticsRoutes, "get /sites/:id/realtime">;

/** Pairs of machine and page with their requests. */
const maxMachineBytes = 8_388_608;

export function statisticsRoutes(deps: StatisticsDeps) {
  const machines = createMachineMemory({ pool: deps.pool, maxBytes: maxMachineBytes });
  return [
    siteStatsRoute(deps, { path: "/sites/:id/stats", askerOf: viewerOf, show: (stats) => stats }),
    viewerRoute("get", "/sites/:id/events", {
      query: rangeQuery,
      handle: (input) => readSiteEvents(deps, input.viewer, input),
    }),
    viewerRoute("get", "/sites/:id/ai", {
      query: z.object({ ...rangeParameters, filters: aiFiltersParameter }).superRefine(checkRange),
      handle(input) {
        const now = deps.now();
        const { filters } = input.query;
        const { asked, ...days } = resolveRange(input.query, now);
        return readOwnColumns(deps, input.viewer, input, (site, columns) =>
          readInTime(
            asked,
            readAiPage({ ...deps, columns, machines }, { site, days, filters, now: now.toISOString() }),
          ),
        );
      },
    }),
    viewerRoute("get", "/sites/:id/realtime", {
      query: realtimeQuery,
      handle: (input) => readSiteRealtime(deps, input.viewer, input),
    }),
  ] as const;
}

type Asked = Parameters<typeof readOwnSite>[2];

export function readSiteEvents(
  deps: StatisticsDeps,
  asker: Asker,
  input: Asked & { query: z.output<typeof rangeQuery> },
) {
  const now = deps.now();
  const { asked, ...days } = resolveRange(input.query, now);
  return readOwnSite(deps, asker, input, async (site, filtering) => {
    const figures = await readInTime(asked, readEvents(deps.pool, { siteId: site.id, days, filtering }));
    return { ...asked, site, days, now: now.toISOString(), ...figures };
  });
}

export const realtimeQuery = z.object({ filters: filtersParameter });

export function readSiteRealtime(deps: StatisticsDeps, asker: Asker, input: Asked) {
  return readOwnSite(deps, asker, input, ({ id: siteId }, filtering) =>
    readRealtime(deps.pool, { siteId, now: deps.now(), filtering }),
  );
}

const aiRows = 100;

/** The API's report, and the days before day by day. */
async function readAiPage(
  deps: Parameters<typeof readAi>[0],
  {
    site,
    days,
    filters,
    now,
  }: { site: Site; days: { first: string; last: string }; filters: readonly Filter[]; now: string },
) {
  const daily = { siteId: site.id, interval: "day", filters } as const;
  const lists = ["unread", "unvisited"] as const;
  const report = await readAi(deps, { ...daily, days, lists, limit: aiRows, withPrevious: false });
  const before = await readAiSeries(deps, { ...daily, days: previousDays(days) });
  const costs: CostFigures[] = [];
  // They are sums of all visits.
  for (const by of filters.length === 0 ? costDimensions : [])
    costs.push(await readCosts(deps.pool, { siteId: site.id, by, days, limit: aiRows }));
  return { site, days, now, ...report, before, costs };
}

type Query = z.output<typeof siteStatsQuery>;

interface StatsWay {
  path: string;
  askerOf(response: Response): Asker;
  show(stats: SiteStats): object;
}

/** `GET …/stats`: all lists unless the request names some. */
export function siteStatsRoute(deps: StatisticsDeps, { path, askerOf, show }: StatsWay) {
  const readOverview = createOverviewReader(deps.pool);
  return pageRoute({
    method: "get",
    path,
    query: siteStatsQuery,
    async handle(input): Promise<Answer> {
      const { query } = input;
      const asker = askerOf(input.response);
      const csvList = query.csv && requireOneList(query);
      if (csvList) return answerCsv(deps, asker, input, csvList);
      const now = deps.now();
      const { asked, ...days } = resolveRange(query, now);
      const { limit, compare: comparison } = query;
      const lists = query.lists.length > 0 ? query.lists : listNames;
      const stats = await readOwnSite(deps, asker, input, (site, filtering) =>
        readInTime(asked, readAll(site, filtering)),
      );
      return { status: 200, body: show(stats) };

      async function readAll(site: Site, filtering: Filtering | undefined): Promise<SiteStats> {
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

async function answerCsv(
  deps: StatisticsDeps,
  asker: Asker,
  input: Asked & { query: Query },
  list: ListName,
): Promise<Answer> {
  const { asked, ...days } = resolveRange(input.query, deps.now());
  const { limit } = input.query;
  return readOwnSite(deps, asker, input, async ({ id: siteId, domain }, filtering) => {
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
