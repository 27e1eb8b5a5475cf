import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { failureQuerySchema, failuresToList, listFailures, presentFailurePage } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { viewerRoute } from "../session/viewer.js";

/** The answer of `GET /failures`: the trace API's members. */
export type FailureList = ReturnType<typeof presentFailurePage>;
export type ListedFailure = FailureList["failures"][number];

/** The answer of `GET /mutes`, oldest first. */
export interface MuteList {
  mutes: Awaited<ReturnType<typeof listMutes>>;
}

const muteBody = z.strictObject({
  /** Null for good. */
  until: z.iso.datetime("Must be a time").nullable(),
});

export type MuteBody = z.output<typeof muteBody>;

export function failureRoutes({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return [
    /** Failed traces by what went wrong, most frequent first. */
    viewerRoute("get", "/failures", {
      query: failureQuerySchema,
      handle: async ({ viewer: { accountId }, query }): Promise<FailureList> =>
        presentFailurePage(await listFailures(pool, failuresToList(accountId, query, now()))),
    }),
    /** Failures whose alerts stay silent, with their number. */
    viewerRoute("get", "/mutes", {
      handle: async ({ viewer }): Promise<MuteList> => ({ mutes: await listMutes(pool, viewer.accountId) }),
    }),
    /** Silences a failure's alerts until a time, or for good. */
    viewerRoute("put", "/failures/:failure_id/mute", {
      body: muteBody,
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" }, body }) {
        await createMute(pool, accountId, { failureId, until: body.until ?? undefined, now: now() });
      },
    }),
    /** Further failures are told again. */
    viewerRoute("delete", "/failures/:failure_id/mute", {
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" } }) {
        await deleteMute(pool, { failureId, accountId });
      },
    }),
  ];
}
