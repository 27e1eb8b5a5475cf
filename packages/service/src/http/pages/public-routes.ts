import { type RequestHandler, Router } from "express";
import { type ReadinessChecks, readiness } from "../../process/index.js";
import { type ApiDescription, describeApi } from "../openapi/openapi.js";
import { refuseMethod } from "../route/mount-routes.js";
import { markRoute } from "../route/request-context.js";
import { docsPage, htmlPage, prefersHtml, sendHtml, sendJson } from "./docs-page.js";

export interface PublicRoutesOptions {
  api: ApiDescription;
  checks: ReadinessChecks;
}

const links = { docs: "/docs", openapi: "/openapi.json", health: "/health", ready: "/ready" };

/** `/health` (the process is up) and `/ready` (its stores answer). */
export function healthRoutes(checks: ReadinessChecks): Router {
  const router = Router();
  const get = adderOf(router);
  get("/health", (_request, response) => {
    sendJson(response, { status: "ok" });
  });
  get("/ready", async (_request, response) => {
    const { status, body } = await readiness(checks);
    sendJson(response.status(status), body);
  });
  return router;
}

/** Adds read-only routes. */
function adderOf(router: Router) {
  return (path: string, handler: RequestHandler) => {
    router
      .route(path)
      .get((request, response, next) => {
        markRoute(response, path);
        return handler(request, response, next);
      })
      .all(refuseMethod(["GET", "HEAD"], path));
  };
}

/** The routes without a key: `/` (links), `/health` (the process is up), `/ready` (its stores answer), `/openapi.json`, `/docs`. */
export function publicRoutes({ api, checks }: PublicRoutesOptions): Router {
  const document = describeApi(api);
  const router = healthRoutes(checks);
  const get = adderOf(router);
  get("/", (request, response) => {
    if (!prefersHtml(request, response)) return sendJson(response, { name: api.title, ...links });
    const anchors = Object.entries(links).map(([name, path]) => `<a href="${path}">${name}</a>`);
    sendHtml(response, htmlPage(api.title, `<nav>${anchors.join("")}</nav>`));
  });
  get("/openapi.json", (_request, response) => {
    sendJson(response, document);
  });
  get("/docs", (request, response) => {
    // The header only changes the text of examples, and only for its sender.
    const protocol = request.get("x-forwarded-proto") === "https" ? "https" : request.protocol;
    const origin = `${protocol}://${request.get("host") ?? "localhost"}`;
    sendHtml(response, docsPage(document, { origin }));
  });
  return router;
}
