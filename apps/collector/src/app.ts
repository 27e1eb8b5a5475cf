import { authenticate, type KeyDirectory, principalOf, requireScope } from "@waymark/auth";
import { createAccepted, type ReadinessChecks, type Siblings } from "@waymark/service";
import {
  type ApiDescription,
  createBodyReader,
  createExpress,
  createRefusals,
  mountRoutes,
  publicRoutes,
  type Route,
} from "@waymark/service/http";
import type { Recorder, RequestRecorder } from "@waymark/web-stats/analytics";
import type { Express, Request, RequestHandler, Response } from "express";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { createBeaconReader } from "./event/beacon.schema.js";
import { collectEventRoute, toRefusal } from "./event/collect-event.route.js";
import type { ClientReader, SpamCheck } from "./event/read-client.js";
import { createEventLimits } from "./limits/event-limits.js";
import { collectRequestsRoute } from "./requests/collect-requests.route.js";
import { scriptRoutes, type TrackerSource } from "./script/get-script.route.js";
import { getVisitRoute } from "./visit/get-visit.route.js";

/** A browser may keep the answer to a preflight so long; Chromium keeps none longer than two hours. */
const maxAgeSeconds = 7_200;

/** Lets pages of any site post and read answers, and answers their preflights (Fetch standard, "CORS protocol"). */
const allowAnyOrigin: RequestHandler = (request, response, next) => {
  response.set({
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "X-Waymark-Dropped, X-Request-Id",
    // Pages that isolate themselves load only resources with this header.
    "Cross-Origin-Resource-Policy": "cross-origin",
  });
  if (request.method !== "OPTIONS") {
    next();
    return;
  }
  response.set({
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": String(maxAgeSeconds),
  });
  response.status(204).end();
};

/** A thousand requests of a kilobyte. */
const maxBatchBytes = 1_048_576;

const description = `
Records page views, custom events and engagement of browsers, in the form of Plausible's clients. It is public and needs no key: a site is known by
its domain. Servers send the requests of machines with a key. The analytics API has the statistics.

A page carries one line, \`<script defer src="https://THIS-SERVICE/js/script.js" data-domain="example.com"></script>\`, and sends custom
events by \`waymark('signup', {props: {plan: 'pro'}})\`.

Any origin may post. Every answer has an \`X-Request-Id\`. Every error is JSON with an \`error\` string. Every call may also answer 404 for an
unknown path, 405 with \`Allow\`, 413 for a body over its size, 429 with \`Retry-After\` above a limit, 500 for a fault of ours and 503 with
\`Retry-After\` while events cannot be written. After 429 and 503 you may send the event again: no site has it, unless the database broke
off during the commit.
`;

function describeCollector(routes: readonly Route[]): ApiDescription {
  const keys = { keyForm: "wmk_trace_…", isPublic: true };
  return { title: "Waymark collector", version: "1", description, basePath: "", ...keys, routes };
}

interface AppDeps {
  recorder: Pick<Recorder, "record" | "visit">;
  recordRequests: RequestRecorder;
  /** Keys of the trace API, whose scope `ingest` sends. */
  keys: Pick<KeyDirectory, "find">;
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
  siblings?: Siblings | undefined;
}

export function createApp(deps: AppDeps): Express {
  const refusals = createRefusals(deps.registry);
  const limits = createEventLimits({ ...deps, ...deps.eventsPerSecond, refusals });
  const countAccepted = createAccepted(deps.registry, ["event", "request"]);
  const shared = { ...deps, limits, refusals, countAccepted };
  const routes = [collectEventRoute(shared), getVisitRoute(shared), ...scriptRoutes(deps)];
  const recordRequests: RequestRecorder = (...batch) =>
    deps.recordRequests(...batch).catch((error) => {
      throw toRefusal(refusals, error) ?? error;
    });
  const requests = collectRequestsRoute({ ...shared, recordRequests });
  const api = describeCollector([...routes, requests]);

  return createExpress(deps, (app) => {
    app.use(["/api/event", "/js"], allowAnyOrigin);
    app.route("/api/event").get(limits.admitAddress).post(limits.admitAddress);
    const readBody = createBeaconReader(limits.bodyBudget, limits.countBytes);
    mountRoutes(app, routes, { basePath: api.basePath, readBody });
    app.post(requests.path, limits.admitAddress, authenticate("trace", deps.keys));
    const budget = { ...limits.bodyBudget, ownerOf: (response: Response) => principalOf(response).accountId };
    mountRoutes(app, [requests], {
      basePath: api.basePath,
      permit: ({ scope }, response) => requireScope(principalOf(response), scope),
      readBody: createBodyReader(maxBatchBytes, { budget }),
    });
    app.use(publicRoutes({ api, checks: deps.checks }));
  });
}
