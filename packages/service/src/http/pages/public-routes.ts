import { type Request, type RequestHandler, Router } from "express";
import { answerReady, type ReadinessChecks } from "../../process/index.js";
import { type ApiDescription, describeApi } from "../openapi/openapi.js";
import { refuseMethod } from "../route/mount-routes.js";
import { markRoute } from "../route/request-context.js";
import { docsPage, htmlPage, inline, prefersHtml, sendHtml, sendJson, tryItPolicy } from "./docs-page.js";

const links = { docs: "/docs", openapi: "/openapi.json", health: "/health", ready: "/ready" };

export function healthRoutes(checks: ReadinessChecks): Router {
  const router = Router();
  const get = adderOf(router);
  get("/health", (_request, response) => {
    sendJson(response, { status: "ok" });
  });
  get("/ready", async (_request, response) => {
    const { status, body } = await answerReady(checks);
    sendJson(response.status(status), body);
  });
  return router;
}

function adderOf(router: Router) {
  return (path: string, handler: RequestHandler, label = path) => {
    router
      .route(path)
      .get((request, response, next) => {
        markRoute(response, label);
        return handler(request, response, next);
      })
      .all(refuseMethod(["GET", "HEAD"], label));
  };
}

export function publicRoutes({ api, checks }: { api: ApiDescription; checks: ReadinessChecks }): Router {
  const document = describeApi(api);
  const router = healthRoutes(checks);
  const get = adderOf(router);
  get("/", (request, response) => {
    if (!prefersHtml(request, response)) return sendJson(response, { name: api.title, ...links });
    const anchors = Object.entries(links).map(([name, path]) => `<a href="${path}">${name}</a>`);
    sendHtml(response, htmlPage(api.title, `<nav>${anchors.join("")}</nav>`));
  });
  get("/openapi.json", (request, response) => {
    sendJson(response, { ...document, servers: [{ url: originOf(request) }] });
  });
  get("/docs", (request, response) => {
    sendHtml(response, docsPage(document, originOf(request)), tryItPolicy);
  });
  return router;
}

/** As the reader reaches the service. The headers only change texts, and only for their sender. */
function originOf(request: Request): string {
  const protocol = request.get("x-forwarded-proto") === "https" ? "https" : request.protocol;
  return `${protocol}://${request.get("host") ?? "localhost"}`;
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A page at an address of the dashboard, for installations without one. */
interface Placeholder {
  title: string;
  message: string;
  instead: readonly string[];
}

const noDashboard = "The dashboard is not part of this installation yet.";

const billing: Placeholder = {
  title: "Plan and keys",
  message: `${noDashboard} Its operator changes an account's plan and creates keys on the command line.`,
  instead: [
    "waymark account plan ACCOUNT_ID --plan pro",
    "waymark key create --account ACCOUNT_ID --service analytics --name NAME",
  ],
};

/** @param id a UUID: the page may show no other text from a client */
function tracePlaceholder(id: string): Placeholder {
  return {
    title: "A trace",
    message: `${noDashboard} Read this trace on the command line or by the trace API, with a key of its account.`,
    instead: [`waymark trace show ${id}`, `GET /api/v1/traces/${id}`],
  };
}

/** Leads `GET /dashboard*`, as contracts have it, to the dashboard; without one, answers with commands. */
export function dashboardRoutes(dashboardUrl: string | undefined): Router {
  return dashboardUrl === undefined ? placeholders() : redirects(dashboardUrl);
}

/** The path begins with `/dashboard`, so it names no other host than the URL before it. */
function redirects(dashboardUrl: string): Router {
  const router = Router();
  const redirect: RequestHandler = (request, response) => {
    const query = /\?.*$/s.exec(request.originalUrl)?.[0] ?? "";
    response.location(`${dashboardUrl}${request.path}${query}`).set("Cache-Control", "no-store").status(302).end();
  };
  adderOf(router)("/dashboard{/*path}", redirect, "/dashboard/*");
  return router;
}

function placeholders(): Router {
  const router = Router();
  const at = (path: string, placeholderOf: (id: string) => Placeholder | undefined) => {
    router
      .route(path)
      .get((request, response, next) => {
        const placeholder = placeholderOf(String(request.params["id"]));
        if (!placeholder) return next("route");
        markRoute(response, path);
        if (!prefersHtml(request, response)) return sendJson(response, toJson(placeholder));
        sendHtml(response, toHtml(placeholder));
      })
      .all(refuseMethod(["GET", "HEAD"], path));
  };
  at("/dashboard/billing", () => billing);
  at("/dashboard/traces/:id", (id) => (uuidPattern.test(id) ? tracePlaceholder(id.toLowerCase()) : undefined));
  return router;
}

function toJson({ message, instead }: Placeholder) {
  return { message, instead };
}

function toHtml({ title, message, instead }: Placeholder): string {
  return htmlPage(title, `<p>${inline(message)}</p>\n<pre>${inline(instead.join("\n"))}</pre>`);
}
