import { route } from "@waymark/service/http";
import { deleteGoal, requireSite } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { ownerOf } from "../session/viewer.js";

export function deleteGoalRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "delete",
    path: "/sites/:id/goals/:goalId",
    operationId: "deleteGoal",
    summary: "Delete a goal that no funnel has",
    answers: { 200: { description: "Deleted", schema: z.object({}) } },
    async handle({ response, params }) {
      const site = await requireSite(pool, ownerOf(response).accountId, params["id"] ?? "");
      await deleteGoal(pool, { siteId: site.id, goalId: params["goalId"] ?? "" });
      return { status: 200, body: {} };
    },
  });
}
