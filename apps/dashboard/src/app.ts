import {
  createBodyReader,
  createBytesReader,
  createExpress,
  describeApi,
  healthRoutes,
  mountRoutes,
  pageRoute,
  type Route,
} from "@waymark/service/http";
import { createDayColumns, createReadShares } from "@waymark/web-stats/statistics";
import type { Express } from "express";
import { agentRoutes } from "./agents/agents.route.js";
import { agentExports } from "./agents/export-agents.route.js";
import { alertRoutes } from "./alerts/alerts.route.js";
import { alertExports } from "./alerts/export-alerts.route.js";
import type { AppDeps } from "./app-deps.js";
import { billingRoutes } from "./billing/billing.route.js";
import { keepRoutes } from "./billing/keep.route.js";
import { stripeWebhookRoute } from "./billing/stripe-webhook.route.js";
import { channelRoutes, ruleRoutes } from "./channels/channels.route.js";
import { unsubscribeRoutes } from "./channels/unsubscribe.route.js";
import { lastSuccessRoutes } from "./compare/last-success.route.js";
import { sessionRoutes } from "./conversations/conversations.route.js";
import { sessionExports } from "./conversations/export-sessions.route.js";
import { costRoutes } from "./costs/costs.route.js";
import { costExports } from "./costs/export-costs.route.js";
import { createExports } from "./exports/export-list.js";
import { failureExports } from "./failures/export-failures.route.js";
import { failureMarkRoutes } from "./failures/failure-marks.route.js";
import { failureRoutes } from "./failures/failures.route.js";
import { findRoutes } from "./find/find.route.js";
import { funnelRoutes, goalRoutes } from "./goals/goals.route.js";
import { keyRoutes } from "./keys/keys.route.js";
import { pageRoutes } from "./pages/pages.js";
import { peopleRoutes } from "./people/people.route.js";
import { scoreRoutes } from "./scores/scores.route.js";
import { admitViewer } from "./security/admission.js";
import { refuseCrossSite, securityHeaders } from "./security/origin.js";
import { codeRoutes } from "./session/codes.route.js";
import { linkRoutes as oneTimeLinkRoutes } from "./session/link.route.js";
import { meRoutes } from "./session/me.route.js";
import { oidcRoutes } from "./session/oidc.route.js";
import { passkeyRoutes, passkeySignInRoutes } from "./session/passkeys.route.js";
import { signInRoutes } from "./session/sign-in.route.js";
import { permitRole, requireSession } from "./session/viewer.js";
import { linkRoutes } from "./sharing/links.route.js";
import { openLinkRoutes } from "./sharing/open-link.route.js";
import { sharedLinks } from "./sharing/shared-link.js";
import { sharedStatisticsRoutes } from "./sharing/shared-statistics.route.js";
import { sharedTraceRoutes } from "./sharing/shared-trace.route.js";
import { siteRoutes } from "./sites/sites.route.js";
import { statisticsRoutes } from "./statistics/statistics.route.js";
import { createTraceShares, traceRoutes } from "./trace/trace.route.js";
import { createRowReader } from "./traces/list-rows.js";
import { oneTraceRoutes } from "./traces/one-trace.route.js";
import { traceListRoutes } from "./traces/traces.route.js";
import { viewRoutes } from "./views/views.route.js";

const maxBodyBytes = 65_536;

/** Stripe's events have some kilobytes. */
const maxEventBytes = 262_144;

/** Without a session: the link in the path is the right. */
const sharedPath = "/dashboard/api/shared";

/** A link's token must not reach the logs. */
function hideToken(path: string): string {
  return path.replace(/^(\/dashboard\/(?:link|shared|api\/unsubscribe|api\/shared)\/).+/is, "$1…");
}

/** Days of visits and events kept in memory for filters, goals and funnels. */
const maxColumnBytes = 67_108_864;

function withShares(deps: AppDeps) {
  const columns = createDayColumns({ pool: deps.pool, maxBytes: maxColumnBytes });
  const reads = createReadShares({ ...deps, maxWaitingPerAccount });
  const readRows = createRowReader(deps);
  return { ...deps, reads, columns, readRows, answerExport: createExports(deps), ...createTraceShares(deps.registry) };
}

function routesOf(deps: ReturnType<typeof withShares>): Route[] {
  return [
    ...meRoutes(deps),
    ...findRoutes(deps),
    ...codeRoutes(deps),
    ...passkeyRoutes(deps),
    ...peopleRoutes(deps),
    ...keyRoutes(deps),
    ...linkRoutes(deps),
    ...siteRoutes(deps),
    ...traceListRoutes(deps),
    ...oneTraceRoutes(deps),
    ...viewRoutes(deps),
    ...traceRoutes(deps),
    ...lastSuccessRoutes(deps),
    ...scoreRoutes(deps),
    ...alertRoutes(deps),
    ...sessionRoutes(deps),
    ...failureRoutes(deps),
    ...failureMarkRoutes(deps),
    ...costRoutes(deps),
    ...channelRoutes(deps),
    ...ruleRoutes(deps),
    ...statisticsRoutes(deps),
    ...goalRoutes(deps),
    ...funnelRoutes(deps),
    ...billingRoutes(deps),
    ...keepRoutes(deps),
    ...agentRoutes(deps),
    ...agentExports(deps),
    ...alertExports(deps),
    ...costExports(deps),
    ...failureExports(deps),
    ...sessionExports(deps),
  ];
}

/** Lists the routes with the schemas of their requests, itself included, for `pnpm fuzz` and `pnpm isolation`. */
function describeRoutesRoute(basePath: string, routes: readonly Route[]): Route {
  const own = pageRoute({
    method: "get",
    path: "/openapi.json",
    handle: async () => ({ status: 200, body: document }),
  });
  const described = [...routes, own];
  const document = describeApi({
    title: "Waymark dashboard",
    version: "1",
    description: "",
    basePath,
    routes: described,
  });
  return own;
}

export function createApp(given: AppDeps): Express {
  const deps = withShares(given);
  const basePath = "/dashboard/api";
  const readBody = createBodyReader(maxBodyBytes);
  const webhook = stripeWebhookRoute(deps);
  const unsubscribe = unsubscribeRoutes(deps);
  const open = [...signInRoutes(deps), ...passkeySignInRoutes(deps), ...oidcRoutes(deps), ...oneTimeLinkRoutes(deps)];
  const guarded = routesOf(deps);
  const sharing = sharedLinks(deps);
  const shared = [
    ...openLinkRoutes({ ...deps, ...sharing }),
    ...sharedStatisticsRoutes(deps),
    ...sharedTraceRoutes(deps),
  ];
  const apart = [{ ...webhook, basePath: "" }, ...shared.map((route) => ({ ...route, basePath: sharedPath }))];
  const document = describeRoutesRoute(basePath, [...apart, ...unsubscribe, ...open, ...guarded]);

  return createExpress({ ...deps, logPath: hideToken }, (app) => {
    app.use(securityHeaders(deps.config.url));
    app.use(healthRoutes(deps.checks));
    mountRoutes(app, [webhook], { basePath: "", readBytes: createBytesReader(maxEventBytes) });
    mountRoutes(app, unsubscribe, { basePath });
    app.use("/dashboard", refuseCrossSite(deps.config.url));
    mountRoutes(app, open, { basePath, readBody });
    mountRoutes(app, shared, { basePath: sharedPath, readBody, guards: [sharing.openLink] });
    const guards = [requireSession(deps.sessions), admitViewer(deps)];
    mountRoutes(app, [...guarded, document], { basePath, readBody, guards, permit: permitRole });
    app.get("/dashboard/shared/:token{/*rest}", sharing.sharedPage);
    app.use(pageRoutes(deps.pages));
  });
}

/** A team may look at its statistics at the same time. */
const maxWaitingPerAccount = 40;
