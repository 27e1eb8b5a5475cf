/** Operations that need not succeed for their own tenant in a run, and why. All others should: a run lists those that never did. */
export const excused: Readonly<Record<string, string>> = {
  "trace-api GET /api/v1/traces/stream": "open during the whole run for every account",
  "trace-api GET /api/v1/usage/dropped": "no request of the run asks for it; a test of the trace API does",
  "trace-api PATCH /api/v1/account": "no request of the run changes what is kept; a test of the trace API does",
  "trace-api GET /api/v1/sessions/{session_id}":
    "no trace of the run has a session; a test of the trace API asks for one",
  "trace-api GET /api/v1/usage/by": "no request of the run asks for it; a test of the trace API does",
  "analytics-api GET /api/v1/sites/{id}/funnels/{funnelId}":
    "a site and its funnel seldom meet; foreign and missing ones are tried",
  "dashboard PUT /dashboard/api/sites/{id}/funnels/{funnelId}":
    "a site, its funnel and its goals seldom meet; foreign and missing ones are tried",
  "collector GET /js/script.{extensions}.js": "a public file of fixed names",
  "dashboard POST /webhooks/stripe": "needs Stripe's signature",
  "dashboard POST /dashboard/api/sign-in": "needs a password; people of the run have none",
  "dashboard GET /dashboard/api/oidc": "needs a provider; a test of the dashboard has one",
  "dashboard GET /dashboard/api/oidc/callback": "needs a provider; a test of the dashboard has one",
  "dashboard POST /dashboard/api/passkey": "needs an authenticator; a test of the dashboard has one",
  "dashboard GET /dashboard/api/link": "needs the token of a mail",
  "dashboard POST /dashboard/api/link": "needs the token of a mail",
  "dashboard GET /dashboard/api/unsubscribe/{token}": "needs the token of a mail",
  "dashboard POST /dashboard/api/unsubscribe/{token}": "needs the token of a mail",
  "dashboard GET /dashboard/api/shared/{token}": "needs the address of a link; a test of the dashboard has one",
  "dashboard POST /dashboard/api/shared/{token}/password":
    "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/stats": "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/events": "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/realtime":
    "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/outline": "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/spans/{span_id}":
    "needs the address of a link; a test of the dashboard has one",
  "dashboard GET /dashboard/api/shared/{token}/spans/{span_id}/{content}":
    "needs the address of a link; a test of the dashboard has one",
  "dashboard POST /dashboard/api/me/account": "people of the run have one account",
  "dashboard DELETE /dashboard/api/people/{person_id}": "would end the run's own people",
  "dashboard GET /dashboard/api/traces/otel/{otel_trace_id}":
    "needs an id that no answer shows; foreign and missing ids are tried",
  "dashboard GET /dashboard/api/traces/{id}/spans/{span_id}/{content}":
    "needs a large content; foreign and missing ids are tried",
  "dashboard DELETE /dashboard/api/traces/{id}/scores/{score_id}":
    "a trace and its score seldom meet; foreign and missing ones are tried",
  "dashboard GET /dashboard/api/sessions/{session_id}":
    "no trace of the run has a session; a test of the dashboard asks for one",
  "dashboard POST /dashboard/api/channels/{channel_id}/link":
    "only a channel that waits for its address has a link; foreign and missing ones are tried",
  "dashboard GET /dashboard/api/billing/invoices": "needs Stripe's settings",
  "dashboard POST /dashboard/api/billing/checkout": "needs Stripe's settings",
  "dashboard POST /dashboard/api/billing/portal": "needs Stripe's settings",
};
