import { route } from "@waymark/http";
import { removePerson } from "@waymark/identity";
import { done } from "../session/done.js";
import { ownerOf, viewerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import type { PeopleDeps } from "./people-deps.js";

/** `DELETE /people/:person_id`: an owner removes anybody, a member leaves. */
export function removePersonRoute({ pool, sessions }: PeopleDeps) {
  return route({
    method: "delete",
    path: "/people/:person_id",
    operationId: "removePerson",
    summary: "Remove a person, or leave",
    answers: done,
    async handle({ params, response }) {
      const personId = idOf(params["person_id"]);
      const viewer = viewerOf(response);
      const { accountId, personId: actorId } = personId === viewer.personId ? viewer : ownerOf(response);
      await removePerson(pool, { accountId, personId, actorId });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
