import { createPasswordCheck, type Passwords } from "@waymark/accounts/identity";
import { isDatabaseUnavailable } from "@waymark/database";
import { errorHandler, notFoundHandler } from "@waymark/errors";
import type { ReadinessChecks, Siblings } from "@waymark/service";
import {
  createBodyReader,
  createBytesReader,
  createRefusals,
  healthRoutes,
  mountRoutes,
  type Route,
  requestContext,
} from "@waymark/service/http";
import { createDayColumns, createReadShares } from "@waymark/web-stats/statistics";
import express, { type Express } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { getAgentRoute } from "./agents/get-agent.route.js";
import { listAgentsRoute, listDurationsRoute } from "./agents/list-agents.route.js";
import { countUnsentAlertsRoute } from "./alerts/count-unsent-alerts.route.js";
import { listAlertsRoute } from "./alerts/list-alerts.route.js";
import { retryAlertRoute } from "./alerts/retry-alert.route.js";
import { describeRoutesRoute } from "./api.js";
import { changePlanRoute } from "./billing/change-plan.route.js";
import { getBillingRoute } from "./billing/get-billing.route.js";
import { getUsageRoute } from "./billing/get-usage.route.js";
import { listInvoicesRoute } from "./billing/list-invoices.route.js";
import type { Payments } from "./billing/payments.js";
import { openPortalRoute, startCheckoutRoute } from "./billing/start-payment.route.js";
import { stripeWebhookRoute } from "./billing/stripe-webhook.route.js";
import {
  changeAlertSettingsRoute,
  deleteChannelRoute,
  resendChannelLinkRoute,
  testChannelRoute,
} from "./channels/change-channel.route.js";
import { createChannelRoute } from "./channels/create-channel.route.js";
import { listChannelsRoute } from "./channels/list-channels.route.js";
import { createRuleRoute, deleteRuleRoute, listRulesRoute } from "./channels/rules.route.js";
import type { Config } from "./config.js";
import { getCostsRoute } from "./costs/get-costs.route.js";
import { listFailuresRoute } from "./failures/list-failures.route.js";
import { listMutesRoute, muteFailureRoute, unmuteFailureRoute } from "./failures/mutes.route.js";
import { createFunnelRoute } from "./goals/create-funnel.route.js";
import { createGoalRoute } from "./goals/create-goal.route.js";
import { deleteFunnelRoute } from "./goals/delete-funnel.route.js";
import { deleteGoalRoute } from "./goals/delete-goal.route.js";
import { getFunnelRoute } from "./goals/get-funnel.route.js";
import { listFunnelsRoute } from "./goals/list-funnels.route.js";
import { listGoalsRoute } from "./goals/list-goals.route.js";
import { createKeyRoute } from "./keys/create-key.route.js";
import { listKeysRoute } from "./keys/list-keys.route.js";
import { revokeKeyRoute } from "./keys/revoke-key.route.js";
import { type Pages, pageRoutes } from "./pages/pages.js";
import { changeAccountRoute } from "./people/change-account.route.js";
import { changePersonRoute } from "./people/change-person.route.js";
import { dropInvitationRoute } from "./people/drop-invitation.route.js";
import { invitePersonRoute } from "./people/invite-person.route.js";
import { listAuditRoute } from "./people/list-audit.route.js";
import { listPeopleRoute } from "./people/list-people.route.js";
import { removePersonRoute } from "./people/remove-person.route.js";
import { admitViewer } from "./security/admission.js";
import { refuseCrossSite } from "./security/cross-site.js";
import { securityHeaders } from "./security/headers.js";
import type { AccountMails } from "./session/account-mails.js";
import { changeMeRoute } from "./session/change-me.route.js";
import { changePasswordRoute } from "./session/change-password.route.js";
import { endOtherSessionsRoute } from "./session/end-other-sessions.route.js";
import { endSessionRoute } from "./session/end-session.route.js";
import { forgotRoute } from "./session/forgot-password.route.js";
import { getLinkRoute } from "./session/get-link.route.js";
import { getMeRoute } from "./session/get-me.route.js";
import type { Guesses } from "./session/guesses.js";
import { listSessionsRoute } from "./session/list-sessions.route.js";
import type { OtherCells } from "./session/other-cells.js";
import { getSignInRoute, signInRoute } from "./session/sign-in.route.js";
import { signOutRoute } from "./session/sign-out.route.js";
import { signUpRoute } from "./session/sign-up.route.js";
import { switchAccountRoute } from "./session/switch-account.route.js";
import { useLinkRoute } from "./session/use-link.route.js";
import { requireSession, type Sessions } from "./session/viewer.js";
import { changeSiteRoute } from "./sites/change-site.route.js";
import { createSiteRoute } from "./sites/create-site.route.js";
import { deleteSiteRoute } from "./sites/delete-site.route.js";
import { listSitesRoute } from "./sites/list-sites.route.js";
import { type ProofDeps, proveSiteRoute } from "./sites/prove-site.route.js";
import { getEventsRoute } from "./statistics/get-events.route.js";
import { getRealtimeRoute } from "./statistics/get-realtime.route.js";
import { getStatsRoute } from "./statistics/get-stats.route.js";
import { exportTraceRoute } from "./trace/export-trace.route.js";
import { getContentRoute } from "./trace/get-content.route.js";
import { getOutlineRoute } from "./trace/get-outline.route.js";
import { getSpanRoute } from "./trace/get-span.route.js";
import { deleteTraceRoute } from "./traces/delete-trace.route.js";
import { findOtelTraceRoute } from "./traces/find-otel-trace.route.js";
import { getChangesRoute } from "./traces/get-changes.route.js";
import { listAgentNamesRoute } from "./traces/list-agent-names.route.js";
import { listTracesRoute } from "./traces/list-traces.route.js";

/** The dependencies of the dashboard. */
export interface AppDeps {
  config: Pick<
    Config,
    "url" | "traceApiUrl" | "analyticsApiUrl" | "collectorUrl" | "slots" | "signUp" | "webhookNetworks"
  >;
  pool: pg.Pool;
  sessions: Sessions;
  passwords: Passwords;
  guesses: Guesses;
  mails: AccountMails;
  otherCells: OtherCells;
  proofs: ProofDeps["proofs"];
  /** Undefined without Stripe's settings. */
  payments: Payments | undefined;
  pages: Pages;
  checks: ReadinessChecks;
  log: Logger;
  registry: Registry;
  /** The other processes of this instance. */
  siblings?: Siblings | undefined;
  /** Requests of an account in hand. */
  requestsPerAccount?: number;
  now(): Date;
}

const maxBodyBytes = 65_536;

/** Stripe's events have some kilobytes. */
const maxEventBytes = 262_144;

/** A link's token must not reach the logs. */
function hideToken(path: string): string {
  return path.replace(/^(\/dashboard\/link\/).+/s, "$1…");
}

/** The routes before a session. */
function openRoutesOf(deps: AppDeps): Route[] {
  const checkPassword = createPasswordCheck(deps);
  return [
    getSignInRoute(deps),
    signInRoute({ ...deps, checkPassword }),
    signOutRoute(deps),
    signUpRoute(deps),
    forgotRoute(deps),
    getLinkRoute(deps),
    useLinkRoute(deps),
  ];
}

/** Days of visits and events kept in memory for filters, goals and funnels. */
const maxColumnBytes = 67_108_864;

/** The routes of a session. */
function routesOf(deps: AppDeps): Route[] {
  return [
    getMeRoute(deps),
    changeMeRoute(deps),
    changePasswordRoute(deps),
    switchAccountRoute(deps),
    listSessionsRoute(deps),
    endOtherSessionsRoute(deps),
    endSessionRoute(deps),
    listPeopleRoute(deps),
    invitePersonRoute(deps),
    changePersonRoute(deps),
    removePersonRoute(deps),
    dropInvitationRoute(deps),
    changeAccountRoute(deps),
    listAuditRoute(deps),
    listKeysRoute(deps),
    createKeyRoute(deps),
    revokeKeyRoute(deps),
    listSitesRoute(deps),
    createSiteRoute(deps),
    changeSiteRoute(deps),
    deleteSiteRoute(deps),
    proveSiteRoute(deps),
    listTracesRoute(deps),
    getChangesRoute(deps),
    listAgentNamesRoute(deps),
    findOtelTraceRoute(deps),
    deleteTraceRoute(deps),
    getOutlineRoute(deps),
    getSpanRoute(deps),
    getContentRoute(deps),
    exportTraceRoute(deps),
    listAlertsRoute(deps),
    countUnsentAlertsRoute(deps),
    retryAlertRoute(deps),
    listFailuresRoute(deps),
    listMutesRoute(deps),
    muteFailureRoute(deps),
    unmuteFailureRoute(deps),
    getCostsRoute(deps),
    listChannelsRoute(deps),
    createChannelRoute(deps),
    testChannelRoute(deps),
    resendChannelLinkRoute(deps),
    deleteChannelRoute(deps),
    changeAlertSettingsRoute(deps),
    listRulesRoute(deps),
    createRuleRoute(deps),
    deleteRuleRoute(deps),
    ...statisticsRoutes(deps),
    getUsageRoute(deps),
    changePlanRoute(deps),
    getBillingRoute(deps),
    listInvoicesRoute(deps),
    startCheckoutRoute(deps),
    openPortalRoute(deps),
    listAgentsRoute(deps),
    listDurationsRoute(deps),
    getAgentRoute(deps),
  ];
}

function statisticsRoutes(deps: AppDeps): Route[] {
  const columns = createDayColumns({ pool: deps.pool, maxBytes: maxColumnBytes });
  const reading = { ...deps, reads: openReads(deps), columns };
  return [
    getStatsRoute(reading),
    getEventsRoute(reading),
    getRealtimeRoute(reading),
    listGoalsRoute(reading),
    createGoalRoute(deps),
    deleteGoalRoute(deps),
    listFunnelsRoute(deps),
    getFunnelRoute(reading),
    createFunnelRoute(deps),
    deleteFunnelRoute(deps),
  ];
}

/** The dashboard: its middleware in order, and every route. */
export function createApp(deps: AppDeps): Express {
  const basePath = "/dashboard/api";
  const readBody = createBodyReader(maxBodyBytes);
  const webhook = stripeWebhookRoute(deps);
  const [open, guarded] = [openRoutesOf(deps), routesOf(deps)];
  const document = describeRoutesRoute(basePath, [{ ...webhook, basePath: "" }, ...open, ...guarded]);

  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext({ ...deps, logPath: hideToken }));
  app.use(securityHeaders(deps.config.url));
  app.use(healthRoutes(deps.checks));
  mountRoutes(app, [webhook], { basePath: "", readBytes: createBytesReader(maxEventBytes) });
  app.use("/dashboard", refuseCrossSite(deps.config.url));
  mountRoutes(app, open, { basePath, readBody });
  const guards = [requireSession(deps.sessions), admitViewer(deps)];
  mountRoutes(app, [...guarded, document], { basePath, readBody, guards });
  app.use(pageRoutes(deps.pages));
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: isDatabaseUnavailable, log: deps.log }));
  return app;
}

/** A team may look at its statistics at the same time. */
const maxWaitingPerAccount = 40;

/** Figures use half of the connections, so that slow ones never keep other pages waiting. */
function openReads({ pool, registry }: AppDeps) {
  const maxReading = Math.max(1, Math.floor((pool.options.max ?? 10) / 2));
  return createReadShares({ refusals: createRefusals(registry), maxReading, maxWaitingPerAccount });
}
