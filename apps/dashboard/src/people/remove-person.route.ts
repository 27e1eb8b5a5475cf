import { revokeKeysOf } from "@waymark/accounts";
import { recordAudit, removePerson } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { pageRoute } from "@waymark/service/http";
import { ownerOf, viewerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import { removePersonQuery } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

/** `DELETE /people/:person_id`: an owner removes anybody, a member leaves. */
export function removePersonRoute({ pool, sessions }: PeopleDeps) {
  return pageRoute({
    method: "delete",
    path: "/people/:person_id",
    query: removePersonQuery,
    async handle({ params, query: { keys }, response }) {
      const personId = idOf(params["person_id"]);
      const viewer = viewerOf(response);
      const { accountId, personId: actorId } = personId === viewer.personId ? viewer : ownerOf(response);
      await withTransaction(pool, async (transaction) => {
        await removePerson(transaction, { accountId, personId, actorId });
        const revoked = keys === "revoke" ? await revokeKeysOf(transaction, { accountId, personId }) : [];
        for (const { name, hint } of revoked) {
          const subject = `${name} (${hint})`;
          await recordAudit(transaction, { accountId, personId: actorId, action: "key_revoked", subject });
        }
      });
      sessions.forget(accountId);
      return { status: 200, body: {} };
    },
  });
}
