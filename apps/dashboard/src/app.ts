import { isDatabaseUnavailable } from "@waymark/database";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import { createBodyReader, healthRoutes, mountRoutes, type Route, requestContext } from "@waymark/http";
import type { ReadinessChecks } from "@waymark/service";
import express, { type Express } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "./config.js";
import { type Pages, pageRoutes } from "./pages/pages.js";
import { refuseCrossSite } from "./security/cross-site.js";
import { securityHeaders } from "./security/headers.js";
import { getMeRoute } from "./session/get-me.route.js";
import { requireSession, type Sessions } from "./session/viewer.js";

/** The dependencies of the dashboard. */
export interface AppDeps {
  config: Pick<Config, "url" | "traceApiUrl" | "collectorUrl">;
  pool: pg.Pool;
  sessions: Sessions;
  pages: Pages;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  now(): Date;
}

const maxBodyBytes = 65_536;

/** The dashboard: its middleware in order, and every route. */
export function createApp(deps: AppDeps): Express {
  const basePath = "/dashboard/api";
  const openRoutes: Route[] = [];
  const routes = [getMeRoute(deps)];
  const readBody = createBodyReader(maxBodyBytes);

  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext(deps));
  app.use(securityHeaders(deps.config.url));
  app.use(healthRoutes(deps.checks));
  app.use("/dashboard", refuseCrossSite(deps.config.url));
  mountRoutes(app, openRoutes, { basePath, readBody });
  mountRoutes(app, routes, { basePath, readBody, guards: [requireSession(deps.sessions)] });
  app.use(pageRoutes(deps.pages));
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: isDatabaseUnavailable, log: deps.log }));
  return app;
}
