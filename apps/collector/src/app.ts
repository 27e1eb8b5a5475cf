import { isDatabaseUnavailable } from "@waymark/database";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import type { ReadinessChecks, Siblings } from "@waymark/service";
import { createRefusals, mountRoutes, publicRoutes, requestContext } from "@waymark/service/http";
import type { Collector } from "@waymark/web-stats/analytics";
import express, { type Express, type Request } from "express";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { describeCollector } from "./api.js";
import { allowAnyOrigin } from "./event/allow-any-origin.js";
import { collectEventRoute } from "./event/collect-event.route.js";
import { createBeaconReader } from "./event/read-beacon.js";
import type { ClientReader } from "./event/read-client.js";
import type { SpamCheck } from "./event/spam-referrers.js";
import { createEventLimits } from "./limits/event-limits.js";
import { scriptRoutes } from "./script/get-script.route.js";
import type { TrackerSource } from "./script/tracker.js";

export interface AppDeps {
  collector: Pick<Collector, "collect">;
  readClient: ClientReader;
  isSpam: SpamCheck;
  /** The address that limits count a client by. */
  addressOf(request: Request): string;
  /** 0 for no limit. */
  eventsPerSecond: { perAddress: number; perSite: number };
  /** Milliseconds from any point on. */
  clock?(): number;
  tracker: TrackerSource;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  /** The other processes of this instance. */
  siblings?: Siblings | undefined;
}

/** The collector's middleware in order, and every route. */
export function createApp(deps: AppDeps): Express {
  const refusals = createRefusals(deps.registry);
  const limits = createEventLimits({ ...deps, ...deps.eventsPerSecond, refusals });
  const routes = [collectEventRoute({ ...deps, limits, refusals }), ...scriptRoutes(deps)];
  const api = describeCollector(routes);

  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext(deps));
  app.use(["/api/event", "/js"], allowAnyOrigin);
  app.post("/api/event", limits.admitAddress);
  const readBody = createBeaconReader(limits.bodyBudget, limits.countBytes);
  mountRoutes(app, routes, { basePath: api.basePath, readBody });
  app.use(publicRoutes({ api, checks: deps.checks }));
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: isDatabaseUnavailable, log: deps.log }));
  return app;
}
