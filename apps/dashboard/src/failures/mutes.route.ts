import { createMute, deleteMute, listMutes } from "@waymark/alerts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { type MuteList, muteBody } from "./failures.schema.js";

interface Deps {
  pool: pg.Pool;
  now(): Date;
}

/** `GET /mutes`: failures whose alerts stay silent, with their number. */
export function listMutesRoute({ pool }: Deps) {
  return route({
    method: "get",
    path: "/mutes",
    operationId: "listMutes",
    summary: "List muted failures",
    answers: { 200: { description: "The mutes", schema: z.custom<MuteList>() } },
    async handle({ response }) {
      return { status: 200, body: { mutes: await listMutes(pool, viewerOf(response).accountId) } };
    },
  });
}

/** `PUT /failures/:failure_id/mute`: silences a failure's alerts until a time, or for good. */
export function muteFailureRoute({ pool, now }: Deps) {
  return route({
    method: "put",
    path: "/failures/:failure_id/mute",
    operationId: "muteFailure",
    summary: "Mute a failure",
    body: muteBody,
    answers: { 200: { description: "Muted", schema: z.object({}) } },
    async handle({ params, body, response }) {
      const mute = { failureId: params["failure_id"] ?? "", until: body.until ?? undefined, now: now() };
      await createMute(pool, viewerOf(response).accountId, mute);
      return { status: 200, body: {} };
    },
  });
}

/** `DELETE /failures/:failure_id/mute`: further failures are told again. */
export function unmuteFailureRoute({ pool }: Deps) {
  return route({
    method: "delete",
    path: "/failures/:failure_id/mute",
    operationId: "unmuteFailure",
    summary: "End a failure's mute",
    answers: { 200: { description: "Ended", schema: z.object({}) } },
    async handle({ params, response }) {
      await deleteMute(pool, { failureId: params["failure_id"] ?? "", accountId: viewerOf(response).accountId });
      return { status: 200, body: {} };
    },
  });
}
