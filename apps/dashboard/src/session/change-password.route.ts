import {
  changePassword,
  createSessionCookie,
  passwordProblem,
  readPassword,
  startSession,
} from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { tooMany } from "./guesses.js";
import { changePasswordBody } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

/** `POST /me/password`: every session ends, and this browser gets a new one. */
export function changePasswordRoute({ pool, config, passwords, guesses, sessions, now }: SettingsDeps) {
  const cookie = createSessionCookie(config.url);
  return pageRoute({
    method: "post",
    path: "/me/password",
    body: changePasswordBody,
    async handle({ body, request, response }) {
      const { personId, accountId } = viewerOf(response);
      const problem = passwordProblem(body.password);
      if (problem) throw validationError({ password: problem });
      const admission = await guesses.admit(request, "password", personId);
      const { isAllowed, retryAfterSeconds, network, refund } = admission;
      if (!isAllowed) throw tooMany(retryAfterSeconds);
      const stored = await readPassword(pool, personId);
      if (stored !== undefined && !(await passwords.verify(stored, body.current ?? "", network))) {
        throw validationError({ current: body.current === undefined ? "Required" : "Is not your password" });
      }
      await refund();
      const hash = await passwords.hash(body.password, network);
      const userAgent = request.get("user-agent");
      const token = await withTransaction(pool, async (client) => {
        await changePassword(client, personId, hash);
        return startSession(client, { personId, accountId, userAgent, now: now() });
      });
      sessions.forget(accountId);
      return { status: 200, headers: { "Set-Cookie": cookie.write(token) }, body: {} };
    },
  });
}
