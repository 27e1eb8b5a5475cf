import { changeRole } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { ownerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import { changePersonBody } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function changePersonRoute({ pool, sessions }: PeopleDeps) {
  return pageRoute({
    method: "patch",
    path: "/people/:person_id",
    body: changePersonBody,
    async handle({ params, body: { role }, response }) {
      const { accountId, personId: actorId } = ownerOf(response);
      await changeRole(pool, { accountId, personId: idOf(params["person_id"]), actorId, role });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
