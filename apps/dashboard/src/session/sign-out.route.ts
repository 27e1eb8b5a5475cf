import { createSessionCookie, endSession } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import type { Sessions } from "./viewer.js";

interface SignOutDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  sessions: Sessions;
}

/** `POST /sign-out`. Without a session it only removes the cookie. */
export function signOutRoute({ pool, config, sessions }: SignOutDeps) {
  const cookie = createSessionCookie(config.url);
  return route({
    method: "post",
    path: "/sign-out",
    operationId: "signOut",
    summary: "Sign out",
    answers: { 200: { description: "Signed out", schema: z.object({}) } },
    async handle({ request }) {
      const viewer = await sessions.find(request.headers.cookie);
      if (viewer) {
        await endSession(pool, viewer);
        sessions.forget(viewer.accountId);
      }
      return { status: 200, headers: { "Set-Cookie": cookie.remove() }, body: {} };
    },
  });
}
