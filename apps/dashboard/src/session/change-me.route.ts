import { renamePerson } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { done } from "./done.js";
import { changeMeBody } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function changeMeRoute({ pool }: SettingsDeps) {
  return route({
    method: "patch",
    path: "/me",
    operationId: "changeMe",
    summary: "Change the own name",
    body: changeMeBody,
    answers: done,
    async handle({ body, response }) {
      await renamePerson(pool, viewerOf(response).personId, body.name);
      return { status: 200, body: {} };
    },
  });
}
