import { isMember } from "@waymark/accounts/identity";
import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { validationError } from "@waymark/errors";
import { assignFailure, resolveFailure } from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type MuteList = AnswerOf<typeof failureMarkRoutes, "get /mutes">;

const muteBody = z.strictObject({
  /** Null for good. */
  until: z.iso.datetime("Must be a time").nullable(),
});

export type MuteBody = z.output<typeof muteBody>;

const assignBody = z.strictObject({
  /** Null for nobody. */
  personId: z.uuid("Must be the id of a person").nullable(),
});

export type AssignBody = z.output<typeof assignBody>;

/** What people say about failures. Members may do all of it. */
export function failureMarkRoutes({ pool, now }: AppDeps) {
  return [
    viewerRoute("get", "/mutes", {
      handle: async ({ viewer }) => ({ mutes: await listMutes(pool, viewer.accountId) }),
    }),
    viewerRoute("put", "/failures/:failure_id/mute", {
      body: muteBody,
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" }, body }) {
        await createMute(pool, accountId, { failureId, until: body.until ?? undefined, now: now() });
      },
    }),
    viewerRoute("delete", "/failures/:failure_id/mute", {
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" } }) {
        await deleteMute(pool, { failureId, accountId });
      },
    }),
    viewerRoute("put", "/failures/:failure_id/resolved", {
      handle: ({ viewer: { accountId }, params }) => resolveFailure(pool, accountId, params["failure_id"], true),
    }),
    viewerRoute("delete", "/failures/:failure_id/resolved", {
      handle: ({ viewer: { accountId }, params }) => resolveFailure(pool, accountId, params["failure_id"], false),
    }),
    viewerRoute("put", "/failures/:failure_id/assignee", {
      body: assignBody,
      async handle({ viewer: { accountId }, params, body: { personId } }) {
        if (personId !== null && !(await isMember(pool, accountId, personId)))
          throw validationError({ personId: "Must be a person of the account" });
        await assignFailure(pool, accountId, params["failure_id"], personId);
      },
    }),
  ];
}
