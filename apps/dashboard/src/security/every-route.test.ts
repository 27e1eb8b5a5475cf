import { describe, expect, it } from "@jest/globals";
import type { Express } from "express";
import { useDashboard } from "../dashboard.fixture.js";
import { shareLink } from "../sharing/sharing.fixture.js";

const dashboard = useDashboard();
const someId = "00000000-0000-7000-8000-000000000000";

/** Requests that change something, and an owner's body of each; members may send the others. */
const ownersBodies: Readonly<Record<string, object | undefined>> = {
  "POST /people": { email: "friend@example.com", role: "owner" },
  "PATCH /people/:person_id": { role: "owner" },
  "DELETE /people/:person_id": undefined,
  "DELETE /invitations/:invitation_id": undefined,
  "PATCH /account": { name: "Mine" },
  "DELETE /keys/:id": undefined,
  "DELETE /links/:link_id": undefined,
  "DELETE /sites/:id": undefined,
  "POST /sites/:id/proof": undefined,
  "PUT /sites/:id/costs": { countsCosts: true },
  "PUT /sites/:id/goals/:goalId": { page: "/" },
  "DELETE /sites/:id/goals/:goalId": undefined,
  "PUT /sites/:id/funnels/:funnelId": { name: "f", steps: [someId, someId] },
  "DELETE /sites/:id/funnels/:funnelId": undefined,
  "DELETE /traces/:trace_id": undefined,
  "POST /traces/delete": { ids: [someId] },
  "POST /channels": { kind: "mail", to: "a@example.com" },
  "POST /channels/:channel_id/link": {},
  "POST /channels/:channel_id/test": {},
  "DELETE /channels/:channel_id": undefined,
  "PUT /alert-settings": { mode: "each" },
  "POST /alert-rules": { agentId: "a", abovePercent: 20, ofTraces: 20, withinSeconds: 900 },
  "DELETE /alert-rules/:rule_id": undefined,
  "PUT /keep": { keep: "agents" },
  "POST /billing/checkout": {},
  "POST /billing/portal": {},
};
const operatorsBodies = { "PUT /plan": { plan: "pro" } };
/** Of the person alone, whatever the role in the account. */
const ownWrites = [
  ...["PATCH /me", "POST /me/password", "POST /me/account", "DELETE /me/sessions", "DELETE /me/sessions/:session_id"],
  ...["POST /me/codes", "PUT /me/codes", "POST /me/codes/off"],
  ...["POST /me/passkeys/challenge", "POST /me/passkeys", "DELETE /me/passkeys/:passkey_id"],
];
const membersWrites = [
  ...["POST /traces/:id/scores", "DELETE /traces/:id/scores/:score_id"],
  ...["PUT /failures/:failure_id/mute", "DELETE /failures/:failure_id/mute", "PUT /failures/:failure_id/assignee"],
  ...["POST /failure-marks", "PUT /failures/:failure_id/resolved", "DELETE /failures/:failure_id/resolved"],
  ...["POST /views", "PATCH /views/:view_id", "DELETE /views/:view_id"],
  ...["POST /sites/:id/goals", "POST /sites/:id/funnels", "PUT /report"],
  ...[
    "POST /keys",
    "POST /sites/:id/links",
    "POST /traces/:id/links",
    "POST /sites",
    "PATCH /sites/:id",
    "POST /alerts/:alert_id/retry",
  ],
];
/** Mail programs ask for it from anywhere: its token is the proof. */
const unsubscribe = "POST /unsubscribe/:token";
const openRoutes = [
  "GET /unsubscribe/:token",
  unsubscribe,
  "GET /sign-in",
  "GET /oidc",
  "GET /oidc/callback",
  "POST /passkey/challenge",
  "POST /passkey",
  "POST /sign-in",
  "POST /sign-out",
  "POST /sign-up",
  "POST /forgot",
  "GET /link",
  "POST /link",
];
/** Behind no session, and the same 404 without a good link. */
const sharedRoutes = [
  "GET /shared/:token",
  "POST /shared/:token/password",
  "GET /shared/:token/stats",
  "GET /shared/:token/events",
  "GET /shared/:token/realtime",
  "GET /shared/:token/outline",
  "GET /shared/:token/spans/:span_id",
  "GET /shared/:token/spans/:span_id/:content",
];
const withoutSession = [...openRoutes, ...sharedRoutes];

/** The routes of data as they are mounted, such as `POST /people`. */
function mountedRoutes(app: Express): string[] {
  const layers = app.router.stack as unknown as { route?: { path: string; methods: Record<string, boolean> } }[];
  return layers.flatMap(({ route }) => {
    if (!route?.path.startsWith("/dashboard/api/")) return [];
    const methods = Object.keys(route.methods).filter((method) => method !== "_all");
    return methods.map((method) => `${method.toUpperCase()} ${route.path.slice("/dashboard/api".length)}`);
  });
}

/** A request of a route, to an id that exists nowhere unless another one is given. */
function send(route: string, { as = dashboard.anonymous(), id = someId, body = {} as object | undefined } = {}) {
  const [method = "", path = ""] = route.split(" ");
  const url = path.replace(/:\w+/g, id);
  if (method === "GET") return as.get(url);
  if (method === "DELETE") return as.delete(url);
  return as[method.toLowerCase() as "post" | "patch" | "put"](url, body);
}

describe("every route", () => {
  it("that changes something has its people: open, a member's, an owner's, or an operator's", () => {
    const writes = mountedRoutes(dashboard.app).filter((route) => !route.startsWith("GET "));
    const owners = [...Object.keys(ownersBodies), ...Object.keys(operatorsBodies)];
    const known = [...owners, ...membersWrites, ...ownWrites, ...withoutSession];
    expect(writes.sort()).toEqual(known.filter((route) => !route.startsWith("GET ")).sort());
  });

  it("behind a session answers 401 without one", async () => {
    const closed = mountedRoutes(dashboard.app).filter((route) => !withoutSession.includes(route));
    expect(closed.length).toBeGreaterThan(30);
    for (const route of closed) {
      const { status, body } = await send(route);
      expect([route, status, body]).toEqual([route, 401, { error: "Sign in first" }]);
    }
  });

  it("of a shared link answers 404 without one, also to a session", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    for (const as of [dashboard.anonymous(), owner]) {
      for (const route of sharedRoutes) {
        const { status, body } = await send(route, { as, id: "wmk_link_00_none", body: { password: "x" } });
        expect([route, status, body]).toEqual([route, 404, { error: "Not found" }]);
      }
    }
  });

  it("of owners answers a member 403, and of operators an owner", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    const { body: key } = await owner.post("/keys", { name: "k", service: "trace" }).expect(201);
    const { body: site } = await owner.post("/sites", { domain: "mine.example", name: "Mine" }).expect(201);
    const { id: link } = await shareLink(owner, site.id);
    const ids: Record<string, string> = { "DELETE /keys/:id": key.id, "DELETE /links/:link_id": link };
    for (const [route, body] of Object.entries(ownersBodies)) {
      const answer = await send(route, { as: member, body, ...(ids[route] && { id: ids[route] }) });
      expect([route, answer.body]).toEqual([route, { error: "Only an owner of the account may do this" }]);
    }
    for (const [route, body] of Object.entries(operatorsBodies)) {
      const answer = await send(route, { as: owner, body });
      expect([route, answer.body]).toEqual([route, { error: "Only who runs this installation may do this" }]);
    }
    expect((await owner.get("/keys")).body.keys).toHaveLength(1);
  });

  it("that changes something answers a viewer 403, but for the own person; others read", async () => {
    const accountId = await dashboard.makeAccount();
    const [member, viewer] = [await dashboard.signIn(accountId, "member"), await dashboard.signIn(accountId, "viewer")];
    let refused = 0;
    for (const route of mountedRoutes(dashboard.app)) {
      if (withoutSession.includes(route) || ownWrites.includes(route)) continue;
      if (route.startsWith("GET ")) {
        const [seen, read] = [await send(route, { as: member }), await send(route, { as: viewer })];
        expect([route, read.status]).toEqual([route, seen.status]);
        continue;
      }
      const { status, body } = await send(route, { as: viewer, body: undefined });
      expect([route, status, body.error]).toEqual([route, 403, expect.stringMatching(/only reads|Only an owner/)]);
      refused++;
    }
    expect(refused).toBeGreaterThan(35);
    for (const route of ownWrites) expect((await send(route, { as: viewer })).status).not.toBe(403);
  });

  it("that changes something refuses another site's page, also with the session's cookie", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    for (const route of mountedRoutes(dashboard.app)) {
      if (route.startsWith("GET ") || route === unsubscribe) continue;
      for (const headers of [{ "Sec-Fetch-Site": "cross-site" }, { Origin: "https://evil.example" }]) {
        const { status, body } = await send(route, { as: owner }).set(headers);
        expect([route, status, body]).toEqual([route, 403, { error: "Request from another site" }]);
      }
    }
    await owner.get("/me").expect(200);
  });
});
