import { isMember } from "@waymark/accounts/identity";
import { createMute, deleteMute, listMutes, muteFailures } from "@waymark/alerts";
import { validationError } from "@waymark/errors";
import { assignFailure, assignFailures, resolveFailure, resolveFailures } from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { manyIds, resultsOf } from "../many-ids.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type MuteList = AnswerOf<typeof failureMarkRoutes, "get /mutes">;

/** Null for good. */
const until = z.iso.datetime("Must be a time").nullable();
const muteBody = z.strictObject({ until });

/** Null for nobody. */
const personId = z.uuid("Must be the id of a person").nullable();
const assignBody = z.strictObject({ personId });

export type AssignBody = z.output<typeof assignBody>;

const marksBody = z.discriminatedUnion("mark", [
  z.strictObject({ mark: z.literal("mute"), ids: manyIds, until }),
  z.strictObject({ mark: z.literal("resolve"), ids: manyIds }),
  z.strictObject({ mark: z.literal("assign"), ids: manyIds, personId }),
]);

export type MarksBody = z.output<typeof marksBody>;
export type MarkedFailures = AnswerOf<typeof failureMarkRoutes, "post /failure-marks">;

/** What people say about failures. Members may do all of it. */
export function failureMarkRoutes({ pool, now }: AppDeps) {
  async function requirePerson(accountId: string, id: string | null): Promise<void> {
    if (id !== null && !(await isMember(pool, accountId, id)))
      throw validationError({ personId: "Must be a person of the account" });
  }

  async function mark(accountId: string, body: MarksBody): Promise<readonly string[]> {
    const { ids: failureIds } = body;
    if (body.mark === "mute")
      return muteFailures(pool, accountId, { failureIds, until: body.until ?? undefined, now: now() });
    if (body.mark === "resolve") return resolveFailures(pool, accountId, failureIds);
    await requirePerson(accountId, body.personId);
    return assignFailures(pool, accountId, failureIds, body.personId);
  }

  return [
    viewerRoute("get", "/mutes", {
      handle: async ({ viewer }) => ({ mutes: await listMutes(pool, viewer.accountId) }),
    }),
    /** Below `/failures` it would be one of them. */
    viewerRoute("post", "/failure-marks", {
      body: marksBody,
      handle: async ({ viewer, body }) => resultsOf(body.ids, await mark(viewer.accountId, body)),
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
        await requirePerson(accountId, personId);
        await assignFailure(pool, accountId, params["failure_id"], personId);
      },
    }),
  ];
}
