import { dropInvitation } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { ownerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import type { PeopleDeps } from "./people-deps.js";

export function dropInvitationRoute({ pool }: PeopleDeps) {
  return pageRoute({
    method: "delete",
    path: "/invitations/:invitation_id",
    async handle({ params, response }) {
      const { accountId } = ownerOf(response);
      const isGone = await dropInvitation(pool, accountId, idOf(params["invitation_id"]));
      if (!isGone) throw new AppError("not_found");
      return { status: 200, body: {} };
    },
  });
}
