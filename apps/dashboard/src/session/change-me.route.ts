import { renamePerson } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { changeMeBody } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function changeMeRoute({ pool }: SettingsDeps) {
  return pageRoute({
    method: "patch",
    path: "/me",
    body: changeMeBody,
    async handle({ body, response }) {
      await renamePerson(pool, viewerOf(response).personId, body.name);
      return { status: 200, body: {} };
    },
  });
}
