import { dropInvitation } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/service/http";
import { done } from "../session/done.js";
import { ownerOf } from "../session/viewer.js";
import { idOf } from "./id-of.js";
import type { PeopleDeps } from "./people-deps.js";

export function dropInvitationRoute({ pool }: PeopleDeps) {
  return route({
    method: "delete",
    path: "/invitations/:invitation_id",
    operationId: "dropInvitation",
    summary: "Take an invitation back",
    answers: done,
    async handle({ params, response }) {
      const { accountId } = ownerOf(response);
      const isGone = await dropInvitation(pool, accountId, idOf(params["invitation_id"]));
      if (!isGone) throw new AppError("not_found");
      return { status: 200, body: {} };
    },
  });
}
