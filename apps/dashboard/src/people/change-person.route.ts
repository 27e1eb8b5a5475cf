import { changeRole } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { done } from "../session/done.js";
import { ownerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import { changePersonBody } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function changePersonRoute({ pool, sessions }: PeopleDeps) {
  return route({
    method: "patch",
    path: "/people/:person_id",
    operationId: "changePerson",
    summary: "Make a person an owner or a member",
    body: changePersonBody,
    answers: done,
    async handle({ params, body: { role }, response }) {
      const { accountId, personId: actorId } = ownerOf(response);
      await changeRole(pool, { accountId, personId: idOf(params["person_id"]), actorId, role });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
