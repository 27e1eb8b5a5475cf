import { endSession } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { z } from "zod";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function endSessionRoute({ pool, sessions }: SettingsDeps) {
  return pageRoute({
    method: "delete",
    path: "/me/sessions/:session_id",
    async handle({ params, response }) {
      const { personId, accountId } = viewerOf(response);
      const sessionId = z.uuid().safeParse(params["session_id"]).data;
      if (!sessionId || !(await endSession(pool, { sessionId, personId }))) throw new AppError("not_found");
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
