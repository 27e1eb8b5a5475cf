import type { Collector } from "@waymark/analytics";
import { WriterFullError } from "@waymark/analytics";
import { isDatabaseUnavailable } from "@waymark/database";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import { mountRoutes, publicRoutes, requestContext } from "@waymark/http";
import type { ReadinessChecks } from "@waymark/service";
import express, { type Express } from "express";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { describeCollector } from "./api.js";
import { allowAnyOrigin } from "./event/allow-any-origin.js";
import { collectEventRoute } from "./event/collect-event.route.js";
import { createBeaconReader } from "./event/read-beacon.js";
import type { ClientReader } from "./event/read-client.js";
import type { SpamCheck } from "./event/spam-referrers.js";
import { getScriptRoute } from "./script/get-script.route.js";

/** What the collector's service works with. */
export interface AppDeps {
  collector: Pick<Collector, "collect">;
  readClient: ClientReader;
  isSpam: SpamCheck;
  /** The tracker, as browsers get it. */
  script: string;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
}

/** The collector's service: its middleware in order, and every route. */
export function createApp(deps: AppDeps): Express {
  const routes = [collectEventRoute(deps), getScriptRoute(deps)];
  const api = describeCollector(routes);

  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext(deps));
  app.use(publicRoutes({ api, checks: deps.checks }));
  app.use(["/api/event", "/js"], allowAnyOrigin);
  mountRoutes(app, routes, { basePath: api.basePath, readBody: createBeaconReader() });
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable, log: deps.log }));
  return app;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof WriterFullError || isDatabaseUnavailable(error);
}
