import { authenticate, type KeyDirectory } from "@waymark/auth";
import type { ReadinessChecks } from "@waymark/service";
import { createBytesReader, createExpress, dashboardRoutes, mountRoutes, publicRoutes } from "@waymark/service/http";
import type { Limiter } from "@waymark/service/limits";
import { mcpRoute } from "@waymark/service/mcp";
import {
  createDayColumns,
  createFigureMemory,
  createMachineMemory,
  createReadShares,
} from "@waymark/web-stats/statistics";
import type { Express } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { getAiRoute } from "./ai/get-ai.route.js";
import { describeAnalyticsApi, statisticsServer, statisticsTools } from "./api.js";
import { getEventsRoute } from "./events/get-events.route.js";
import { getFunnelRoute, getGoalsRoute, listFunnelsRoute } from "./goals/goals.route.js";
import { passGuards, rateLimit, requireStatisticsPlan } from "./guards.js";
import { getRealtimeRoute } from "./realtime/get-realtime.route.js";
import { listSitesRoute } from "./sites/list-sites.route.js";
import { getStatsRoute } from "./stats/get-stats.route.js";

export interface AppDeps {
  pool: pg.Pool;
  keys: Pick<KeyDirectory, "find">;
  limiter: Pick<Limiter, "spend">;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  /** Its UTC day is "today". */
  now(): Date;
  /** Without a slash at the end. */
  dashboardUrl?: string | undefined;
}

/** Days of visits and events kept in memory for filters: a month of ten million events. */
const maxColumnBytes = 134_217_728;

/** Values of lists with their sums, of some 200 bytes each. */
const maxKeptValues = 200_000;

/** Pairs of machine and page with their requests. */
const maxMachineBytes = 16_777_216;

/** Messages of the Model Context Protocol: arguments of a tool. */
const maxBodyBytes = 65_536;

export function createApp(deps: AppDeps): Express {
  const columns = createDayColumns({ pool: deps.pool, maxBytes: maxColumnBytes });
  const memory = createFigureMemory({ pool: deps.pool, maxKept: maxKeptValues });
  const machines = createMachineMemory({ pool: deps.pool, maxBytes: maxMachineBytes });
  const reading = { ...deps, reads: createReadShares(deps), columns, memory, machines };
  const reads = {
    listSites: listSitesRoute(deps),
    getStats: getStatsRoute(reading),
    getEvents: getEventsRoute(reading),
    getAi: getAiRoute(reading),
  };
  const countRequest = rateLimit(deps.limiter);
  const beforeCall = passGuards([countRequest, requireStatisticsPlan]);
  const routes = [
    reads.listSites,
    reads.getStats,
    reads.getEvents,
    reads.getAi,
    getRealtimeRoute(reading),
    getGoalsRoute(reading),
    listFunnelsRoute(reading),
    getFunnelRoute(reading),
    mcpRoute({ ...statisticsServer, tools: statisticsTools(reads), beforeCall, now: deps.now }),
  ];
  const api = describeAnalyticsApi(routes);

  return createExpress(deps, (app) => {
    app.use(publicRoutes({ api, checks: deps.checks }));
    app.use(dashboardRoutes(deps.dashboardUrl));
    app.post("/mcp", authenticate("analytics", deps.keys));
    app.use(api.basePath, authenticate("analytics", deps.keys));
    app.use(api.basePath, countRequest);
    app.use(api.basePath, requireStatisticsPlan);
    mountRoutes(app, routes, { basePath: api.basePath, readBytes: createBytesReader(maxBodyBytes) });
  });
}
