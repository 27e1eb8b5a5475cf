import { type ReadinessChecks, readiness } from "@waymark/service";
import { type RequestHandler, Router } from "express";
import { docsPage } from "./docs-page.js";
import { type ApiDescription, describeApi } from "./openapi.js";
import { markRoute } from "./request-context.js";
import { refuseMethod } from "./route.js";

export interface PublicRoutesOptions {
  api: ApiDescription;
  checks: ReadinessChecks;
}

/**
 * The routes without a key: `/health` (the process is up), `/ready` (its stores answer), `/openapi.json` and `/docs`.
 */
export function publicRoutes({ api, checks }: PublicRoutesOptions): Router {
  const document = describeApi(api);
  const router = Router();
  const get = (path: string, handler: RequestHandler) => {
    router
      .route(path)
      .get((request, response, next) => {
        markRoute(response, path);
        return handler(request, response, next);
      })
      .all(refuseMethod(["GET", "HEAD"], path));
  };
  get("/health", (_request, response) => {
    response.json({ status: "ok" });
  });
  get("/ready", async (_request, response) => {
    const { status, body } = await readiness(checks);
    response.status(status).json(body);
  });
  get("/openapi.json", (_request, response) => {
    response.json(document);
  });
  get("/docs", (request, response) => {
    // Only the text of an example hangs on this header, and whoever forges it sees the forgery alone.
    const protocol = request.get("x-forwarded-proto") === "https" ? "https" : request.protocol;
    const origin = `${protocol}://${request.get("host") ?? "localhost"}`;
    response.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.type("html").send(docsPage(document, { origin }));
  });
  return router;
}
