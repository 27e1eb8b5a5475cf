import { authenticate, type KeyDirectory, principalOf, requireScope } from "@waymark/auth";
import { createAccepted, type ReadinessChecks, type Siblings } from "@waymark/service";
import {
  type AnswerBudget,
  createBodyReader,
  createBytesReader,
  createExpress,
  createRefusals,
  createShares,
  dashboardRoutes,
  mountRoutes,
  publicRoutes,
} from "@waymark/service/http";
import { mcpRoute } from "@waymark/service/mcp";
import { createFailureClearer, createTracePageReader, createTraceReader, largeAnswerLimits } from "@waymark/traces";
import type { Express } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { listAgentsRoute, readSeriesRoute } from "./agents/agents.route.js";
import { createKnownAgents } from "./agents/known-agents.js";
import { describeTraceApi, type ScopedRoute } from "./answers.js";
import { createGroupCommitFactory } from "./batching/group-commit.js";
import { listFailuresRoute } from "./failures/list-failures.route.js";
import { createIdempotencyGuard } from "./idempotency/idempotency-guard.js";
import { admit } from "./limits/admission.js";
import { createBodyBudget } from "./limits/budgets.js";
import { traceServer, traceTools } from "./mcp/tools.js";
import { createUsagePricer } from "./model-calls/model-call.js";
import { createStores } from "./otlp/create-stores.js";
import { logsRoute } from "./otlp/logs.route.js";
import { metricsRoute } from "./otlp/metrics.route.js";
import { otlpRoute } from "./otlp/otlp.route.js";
import { addScoreRoutes, readAgentScoresRoute } from "./scores/scores.route.js";
import { listSessionsRoute, listUsersRoute, readSessionRoute } from "./sessions/sessions.route.js";
import { createSpanAdder } from "./spans/add-spans.js";
import { addSpanRoute, addSpansRoute } from "./spans/add-spans.route.js";
import { changeSpanRoute } from "./spans/change-span.route.js";
import { createTraceCapacity } from "./spans/trace-capacity.js";
import { streamTracesRoute } from "./stream/stream-traces.route.js";
import type { TraceFeed } from "./stream/trace-feed.js";
import type { AlertQueue } from "./traces/alert-queue.js";
import { createTraceCreator } from "./traces/create-trace.js";
import { createTraceRoute } from "./traces/create-trace.route.js";
import { deleteTraceRoute } from "./traces/delete-trace.route.js";
import { finalizeTraceRoute } from "./traces/finalize-trace.route.js";
import { getTraceRoute } from "./traces/get-trace.route.js";
import { listTracesRoute } from "./traces/list-traces.route.js";
import { createVisitStore } from "./traces/visits.query.js";
import type { ByteReserve } from "./usage/byte-reserve.js";
import { changeAccountRoute, listDroppedRoute } from "./usage/keep.route.js";
import { getUsageRoute, readModelUsageRoute, sumUsageRoute } from "./usage/usage.route.js";

export interface AppDeps {
  pool: pg.Pool;
  keys: Pick<KeyDirectory, "find">;
  alerts: AlertQueue;
  feed: TraceFeed;
  reserve: ByteReserve;
  /** The budget that the feed counts in, too. */
  answers: AnswerBudget;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  bodyLimitBytes: number;
  /** Requests of one key a second on this instance; 0 for no limit. */
  rateLimitPerSecond: number;
  siblings?: Siblings | undefined;
  /** Makes rising ids, UUIDv7. */
  uuid(): string;
  /** The time of the monthly limits. */
  now(): Date;
  /** Without a slash at the end. */
  dashboardUrl?: string | undefined;
}

/** The trace service: its middleware in order, and every route. */
export function createApp(deps: AppDeps): Express {
  const createGroupCommit = createGroupCommitFactory(deps.registry);
  const refusals = createRefusals(deps.registry);
  const capacity = createTraceCapacity({ pool: deps.pool, createGroupCommit });
  const guardIdempotency = createIdempotencyGuard();
  const knownAgents = createKnownAgents();
  const priceUsage = createUsagePricer();
  const countAccepted = createAccepted(deps.registry, ["trace", "span", "log"]);
  const clearFailure = createFailureClearer({ ...deps, createGroupCommit });
  const largeAnswers = createShares(largeAnswerLimits, refusals);
  const traceReader = createTraceReader({ pool: deps.pool, createGroupCommit, largeAnswers });
  const readTracePage = createTracePageReader({ pool: deps.pool, createGroupCommit });
  const guarding = { refusals, traceReader, readTracePage, guardIdempotency, capacity, knownAgents };
  const routeDeps = { ...deps, ...guarding, createGroupCommit, clearFailure, countAccepted, priceUsage };
  const admission = admit({ ...deps, ratePerSecond: deps.rateLimitPerSecond, refusals });
  const guards = [authenticate("trace", deps.keys), admission];
  const budget = createBodyBudget(deps.bodyLimitBytes, refusals);
  const stores = { addSpans: createSpanAdder(routeDeps), storeVisit: createVisitStore(routeDeps) };
  const writeDeps = { ...routeDeps, ...stores, createTrace: createTraceCreator(routeDeps) };
  const otlpDeps = { ...deps, ...createStores(writeDeps) };
  const reads = {
    listTraces: listTracesRoute(routeDeps),
    listAgents: listAgentsRoute(routeDeps),
    listFailures: listFailuresRoute(routeDeps),
    getUsage: getUsageRoute(routeDeps),
    readModelUsage: readModelUsageRoute(routeDeps),
  };
  const routes: ScopedRoute[] = [
    createTraceRoute(writeDeps),
    addSpanRoute(writeDeps),
    addSpansRoute(writeDeps),
    changeSpanRoute(routeDeps),
    // Before the paths of one trace: `stream` is no id.
    streamTracesRoute(routeDeps),
    finalizeTraceRoute(routeDeps),
    getTraceRoute(routeDeps),
    reads.listTraces,
    deleteTraceRoute(routeDeps),
    reads.listAgents,
    readSeriesRoute(routeDeps),
    reads.listFailures,
    ...addScoreRoutes(routeDeps),
    readAgentScoresRoute(routeDeps),
    reads.getUsage,
    reads.readModelUsage,
    listDroppedRoute(routeDeps),
    changeAccountRoute(routeDeps),
    listSessionsRoute(routeDeps),
    readSessionRoute(routeDeps),
    listUsersRoute(routeDeps),
    sumUsageRoute(routeDeps),
    otlpRoute(otlpDeps),
    logsRoute(otlpDeps),
    metricsRoute(),
    { ...mcpRoute({ ...traceServer, tools: traceTools(reads, routeDeps), now: deps.now }), scope: "read" },
  ];
  const api = describeTraceApi(routes);

  return createExpress(deps, (app) => {
    mountRoutes(app, routes, {
      basePath: api.basePath,
      guards,
      permit: ({ scope }, response) => requireScope(principalOf(response), scope),
      readBody: createBodyReader(deps.bodyLimitBytes, { budget }),
      readBytes: createBytesReader(deps.bodyLimitBytes, budget),
      answers: deps.answers,
    });
    app.use(publicRoutes({ api, checks: deps.checks }));
    app.use(dashboardRoutes(deps.dashboardUrl));
  });
}
