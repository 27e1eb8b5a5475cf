import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { failureQuerySchema, failuresToList, listFailures } from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type FailureList = AnswerOf<typeof failureRoutes, "get /failures">;
export type ListedFailure = FailureList["failures"][number];
export type MuteList = AnswerOf<typeof failureRoutes, "get /mutes">;

const muteBody = z.strictObject({
  /** Null for good. */
  until: z.iso.datetime("Must be a time").nullable(),
});

export type MuteBody = z.output<typeof muteBody>;

export function failureRoutes({ pool, now }: AppDeps) {
  return [
    viewerRoute("get", "/failures", {
      query: failureQuerySchema,
      handle: ({ viewer: { accountId }, query }) => listFailures(pool, failuresToList(accountId, query, now())),
    }),
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
  ];
}
