import { endSessionsOf } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

/** `DELETE /me/sessions`: all but this one. */
export function endOtherSessionsRoute({ pool, sessions }: SettingsDeps) {
  return pageRoute({
    method: "delete",
    path: "/me/sessions",
    async handle({ response }) {
      const { personId, sessionId, accountId } = viewerOf(response);
      await endSessionsOf(pool, personId, sessionId);
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
