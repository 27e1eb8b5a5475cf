import { endSessionsOf } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { done } from "./done.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

/** `DELETE /me/sessions`: all but this one. */
export function endOtherSessionsRoute({ pool, sessions }: SettingsDeps) {
  return route({
    method: "delete",
    path: "/me/sessions",
    operationId: "endOtherSessions",
    summary: "End the other own sessions",
    answers: done,
    async handle({ response }) {
      const { personId, sessionId, accountId } = viewerOf(response);
      await endSessionsOf(pool, personId, sessionId);
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
