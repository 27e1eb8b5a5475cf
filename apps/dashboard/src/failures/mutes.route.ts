import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { type MuteList, muteBody } from "./failures.schema.js";

interface Deps {
  pool: pg.Pool;
  now(): Date;
}

/** `GET /mutes`: failures whose alerts stay silent, with their number. */
export function listMutesRoute({ pool }: Deps) {
  return pageRoute({
    method: "get",
    path: "/mutes",
    async handle({ response }) {
      return { status: 200, body: { mutes: await listMutes(pool, viewerOf(response).accountId) } satisfies MuteList };
    },
  });
}

/** `PUT /failures/:failure_id/mute`: silences a failure's alerts until a time, or for good. */
export function muteFailureRoute({ pool, now }: Deps) {
  return pageRoute({
    method: "put",
    path: "/failures/:failure_id/mute",
    body: muteBody,
    async handle({ params, body, response }) {
      const mute = { failureId: params["failure_id"] ?? "", until: body.until ?? undefined, now: now() };
      await createMute(pool, viewerOf(response).accountId, mute);
      return { status: 200, body: {} };
    },
  });
}

/** `DELETE /failures/:failure_id/mute`: further failures are told again. */
export function unmuteFailureRoute({ pool }: Deps) {
  return pageRoute({
    method: "delete",
    path: "/failures/:failure_id/mute",
    async handle({ params, response }) {
      await deleteMute(pool, { failureId: params["failure_id"] ?? "", accountId: viewerOf(response).accountId });
      return { status: 200, body: {} };
    },
  });
}
