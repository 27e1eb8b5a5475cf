import { createSessionCookie, endSession } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
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
  return pageRoute({
    method: "post",
    path: "/sign-out",
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
