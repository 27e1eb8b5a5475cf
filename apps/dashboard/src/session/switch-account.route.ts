import { switchAccount } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { switchAccountBody } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function switchAccountRoute({ pool, sessions }: SettingsDeps) {
  return pageRoute({
    method: "post",
    path: "/me/account",
    body: switchAccountBody,
    async handle({ body: { accountId }, response }) {
      const viewer = viewerOf(response);
      if (!(await switchAccount(pool, { ...viewer, accountId }))) throw new AppError("not_found");
      sessions.forget(viewer.accountId);
      return { status: 200, body: {} };
    },
  });
}
