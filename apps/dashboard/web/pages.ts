import { type Part, part } from "./part.js";

/** Every page below `/dashboard`, each a part that loads when it is asked for. */
export const pages: Readonly<Record<string, Part>> = {
  "/": part(() => import("./home-page.js").then((m) => m.HomePage)),
  "/sign-in": part(() => import("./session/entry-pages.js").then((m) => m.SignInPage)),
  "/sign-up": part(() => import("./session/entry-pages.js").then((m) => m.SignUpPage)),
  "/forgot": part(() => import("./session/entry-pages.js").then((m) => m.ForgotPage)),
  "/link/:token": part(() => import("./session/link-page.js").then((m) => m.LinkPage)),
  "/traces": part(() => import("./traces/traces-page.js").then((m) => m.TracesPage)),
  "/alerts": part(() => import("./alerts/alerts-page.js").then((m) => m.AlertsPage)),
  "/sites": part(() => import("./sites/sites-page.js").then((m) => m.SitesPage)),
  "/sites/:id/settings": part(() => import("./sites/site-settings-page.js").then((m) => m.SiteSettingsPage)),
  "/keys": part(() => import("./keys/keys-page.js").then((m) => m.KeysPage)),
  "/traces/:id": part(() => import("./trace/trace-page.js").then((m) => m.TracePage)),
  "/agents": part(() => import("./agents/agents-page.js").then((m) => m.AgentsPage)),
  "/agents/:id": part(() => import("./agents/agent-page.js").then((m) => m.AgentPage)),
  "/conversations": part(() => import("./conversations/conversations-page.js").then((m) => m.ConversationsPage)),
  "/conversations/:id": part(() => import("./conversations/conversation-page.js").then((m) => m.ConversationPage)),
  "/users": part(() => import("./conversations/users-page.js").then((m) => m.UsersPage)),
  "/failures": part(() => import("./failures/failures-page.js").then((m) => m.FailuresPage)),
  "/costs": part(() => import("./costs/costs-page.js").then((m) => m.CostsPage)),
  "/billing": part(() => import("./billing/billing-page.js").then((m) => m.BillingPage)),
  "/channels": part(() => import("./channels/channels-page.js").then((m) => m.ChannelsPage)),
  "/team": part(() => import("./people/team-page.js").then((m) => m.TeamPage)),
  "/settings": part(() => import("./settings/settings-page.js").then((m) => m.SettingsPage)),
  "/sites/:id": part(() => import("./statistics/statistics-page.js").then((m) => m.StatisticsPage)),
  "/sites/:id/events": part(() => import("./statistics/events-page.js").then((m) => m.EventsPage)),
};
