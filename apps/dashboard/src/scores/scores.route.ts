import { findPlan } from "@waymark/accounts";
import { listPeople } from "@waymark/accounts/identity";
import { createUuidV7, isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { planOf, utcMonth } from "@waymark/plan";
import {
  byteLimit,
  bytesOfScore,
  createScoreAdder,
  deleteScore,
  findTraceName,
  newScoreSchema,
  readGivenScores,
  requireStored,
} from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "../traces/share-statements.js";

export type TraceScores = AnswerOf<typeof scoreRoutes, "get /traces/:id/scores">;

const scoreBody = newScoreSchema.extend({
  spanId: z.string().refine(isUuid, "Must be the id of a span, or null for the whole trace").toLowerCase().nullish(),
});

export type ScoreBody = z.input<typeof scoreBody>;

export function scoreRoutes({ pool, registry, now }: AppDeps) {
  const addScore = createScoreAdder({ pool, createGroupCommit: shareStatements(registry) }, { takesKeys: false });
  const uuid = createUuidV7();
  return [
    /** The API's scores, and who gave them by hand; a person who left has no name. */
    viewerRoute("get", "/traces/:id/scores", {
      async handle({ viewer: { accountId, personId, role }, params }) {
        const traceId = idOf(params["id"], "trace_not_found");
        if ((await findTraceName(pool, accountId, traceId)) === undefined) throw new AppError("trace_not_found");
        const scores = await readGivenScores(pool, accountId, traceId);
        const isGiven = scores.some(({ person_id }) => person_id !== null);
        const names = new Map((isGiven ? await listPeople(pool, accountId) : []).map(({ id, name }) => [id, name]));
        return {
          scores: scores.map(({ person_id, ...score }) => ({
            ...score,
            by: (person_id && names.get(person_id)) ?? null,
            mayRemove: person_id !== null && (role === "owner" || person_id === personId),
          })),
        };
      },
    }),
    viewerRoute("post", "/traces/:id/scores", {
      body: scoreBody,
      status: 201,
      async handle({ viewer: { accountId, personId }, params, body: { spanId = null, ...score } }) {
        const plan = planOf((await findPlan(pool, accountId)).plan);
        const counted = { plan, month: utcMonth(now()).firstDay, bytes: bytesOfScore(score) };
        const of = { accountId, traceId: idOf(params["id"], "trace_not_found"), spanId };
        const added = await addScore({ ...of, ...counted, id: uuid(), score, personId });
        const { id } = requireStored(added, (usedBytes) => {
          const { code, details } = byteLimit(plan, usedBytes);
          return new AppError(code, { details });
        });
        return { id };
      },
    }),
    /** Who gave a score by hand may remove it, and an owner; what came by the API stays. */
    viewerRoute("delete", "/traces/:id/scores/:score_id", {
      async handle({ viewer: { accountId, personId, role }, params }) {
        const [traceId, scoreId] = [idOf(params["id"], "trace_not_found"), idOf(params["score_id"])];
        const score = { accountId, traceId, scoreId, personId: role === "owner" ? null : personId };
        if (!(await deleteScore(pool, score))) throw new AppError("not_found");
      },
    }),
  ];
}
